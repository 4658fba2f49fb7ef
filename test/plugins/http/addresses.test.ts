import * as fc from 'fast-check'
import t from 'tap'
import { Addresses } from '../../../plugins/http/access/addresses.ts'

const header = (...values: string[]): string[] => values.flatMap(value => ['x-forwarded-for', value])

t.test('IPv6 is counted by its /64, and mapped IPv4 as IPv4', async t => {
  const addresses = new Addresses([])
  t.equal(addresses.callerOf('192.0.2.7', []), '192.0.2.7')
  t.equal(addresses.callerOf('::ffff:192.0.2.7', []), '192.0.2.7')
  t.equal(addresses.callerOf('0000:0000:0000:0000:0000:ffff:c000:0207', []), '192.0.2.7')
  t.equal(addresses.callerOf('2001:db8:1:2::1', []), addresses.callerOf('2001:0db8:0001:0002:ffff:ffff:ffff:ffff', []))
  t.not(addresses.callerOf('2001:db8:1:2::1', []), addresses.callerOf('2001:db8:1:3::1', []))
})

t.test('X-Forwarded-For counts only from trusted proxies', async t => {
  const trusting = new Addresses(['10.0.0.0/8', '2001:db8::/32', '127.0.0.1'])
  const callerOf = (peer: string, ...values: string[]): string => trusting.callerOf(peer, header(...values))
  t.equal(callerOf('192.0.2.7', '198.51.100.1'), '192.0.2.7', 'a stranger may write what he likes')
  t.equal(new Addresses([]).callerOf('127.0.0.1', header('198.51.100.1')), '127.0.0.1', 'nobody is trusted by default')
  t.equal(callerOf('10.1.1.1', '198.51.100.1'), '198.51.100.1')
  t.equal(callerOf('::ffff:10.1.1.1', '198.51.100.1'), '198.51.100.1')
  t.equal(callerOf('10.1.1.1', '203.0.113.9, 198.51.100.1, 10.2.2.2'), '198.51.100.1', 'the last that no proxy added')
  t.equal(callerOf('10.1.1.1', '203.0.113.9', '198.51.100.1'), '198.51.100.1', 'two headers are one list')
  t.equal(callerOf('10.1.1.1', '198.51.100.1:4711'), '198.51.100.1')
  t.equal(callerOf('10.1.1.1', '[2001:dead::1]:4711'), callerOf('10.1.1.1', '2001:dead::2'))
  t.equal(callerOf('10.1.1.1', '10.3.3.3, 10.2.2.2'), '10.3.3.3', 'all are trusted: the first')
  for (const bad of [
    '', 'unknown', '198.51.100', '198.51.100.1.', '0x7f.1', '198.51.100.300', 'evil, ', '203.0.113.9, garbage'
  ]) {
    t.equal(callerOf('10.1.1.1', bad), '10.1.1.1', `malformed: ${bad}`)
  }
  t.equal(
    callerOf('10.1.1.1', ['203.0.113.9', ...Array.from({ length: 1_000 }, () => '10.2.2.2')].join(',')),
    '10.2.2.2',
    'a chain is looked at so far and no further'
  )
  for (const bad of ['proxy.example', '10.0.0.0/33', '', '10.0.0.0/x']) {
    t.throws(() => new Addresses([bad]), /neither an address nor a range/, bad)
  }
})

t.test('no header makes a caller out of thin air', async t => {
  const trusting = new Addresses(['10.0.0.0/8'])
  fc.assert(fc.property(fc.string({ unit: 'binary-ascii', maxLength: 60 }), fc.ipV4(), (junk, real) => {
    if (real.startsWith('10.')) return true
    return trusting.callerOf('10.0.0.1', header(`${junk}, ${real}`)) === real
      && trusting.callerOf(real, header(junk)) === real
  }), { seed: 42 })
  t.pass()
})
