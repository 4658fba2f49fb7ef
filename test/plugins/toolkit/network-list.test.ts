import t from 'tap'
import { canonicalHost, readDestination } from '../../../plugins/toolkit/network/destination.ts'
import { NetworkList } from '../../../plugins/toolkit/network/network-list.ts'

t.test('a host is the same one however it is spelled', async t => {
  for (const [canonical, ...spellings] of [
    ['example.org', 'example.org', 'EXAMPLE.org', 'example.org.', 'ｅxample.org', 'exam\u00ADple.org'],
    ['xn--bcher-kva.example', 'bücher.example', 'BÜCHER.example.', 'xn--bcher-kva.example', 'bu\u0308cher.example'],
    [
      '127.0.0.1', '127.0.0.1', '127.1', '0x7f.1', '0177.0.0.1', '2130706433', '127.0.0.1.', '[::ffff:127.0.0.1]',
      '[::ffff:7f00:1]'
    ],
    ['0.0.0.0', '0', '0x0', '[::ffff:0:0]'],
    ['::1', '[::1]', '[0:0::0:1]', '[::0001]'],
    ['2001:db8::1', '[2001:DB8:0::1]', '[2001:0db8:0000:0000:0000:0000:0000:0001]']
  ]) for (const spelling of spellings) t.equal(canonicalHost(spelling), canonical, spelling)
  for (const nothing of [
    '', ' ', 'a b', 'a\tb', 'a/b', 'a\\b', 'u@example.org', 'a?b', 'a#b', 'a%2eb', 'a:80', '::1', '[::1', '[::1%lo]',
    '[example.org]', '*',
    '*.example.org', '256.1.1.1', '1.2.3.4.5', 'a..b', '.a', 'exa<mple', `${'a'.repeat(64)}.org`,
    `${'a.'.repeat(127)}org`, 'a\0b', 'a\r\nb'
  ]) t.equal(canonicalHost(nothing), undefined, JSON.stringify(nothing))
  t.same(readDestination('[::1]:80'), { host: '::1', port: 80 })
  t.same(readDestination('example.org', 80), { host: 'example.org', port: 80 })
  for (
    const wrong of [
      'example.org', 'example.org:', 'example.org:0', 'example.org:65536', 'example.org:080', 'example.org:80:80',
      'example.org:-1', '[::1]', '[::1]80', ':80'
    ]
  ) {
    t.equal(readDestination(wrong), undefined, wrong)
  }
})

t.test('what a list names', async t => {
  const list = new NetworkList([
    'api.example.org:8443', '*.Example.org:443', 'Bücher.example', '10.1.2.3:8080', '[::1]:80', 'localhost:3000'
  ])
  const names = (text: string): boolean => {
    const destination = readDestination(text)
    if (destination === undefined) throw new Error(`${text} is no destination`)
    return list.names(destination)
  }
  for (const named of [
    'api.example.org:8443', 'API.example.org.:8443', 'a.example.org:443', 'a.b.example.org:443',
    'xn--bcher-kva.example:80',
    'bücher.example:443', '10.1.2.3:8080', '0xa.0x10203:8080', '[::ffff:10.1.2.3]:8080', '[0::1]:80'
  ]) t.ok(names(named), named)
  for (const other of [
    'api.example.org:80', 'example.org:443', 'badexample.org:443', 'example.org.evil.test:443', 'bücher.example:8080',
    '10.1.2.3:80', '10.1.2.4:8080',
    '[::2]:80', 'a.localhost:3000', 'b%C3%BCcher.example:80'.replace(/%.*E/, '')
  ]) t.notOk(readDestination(other) !== undefined && names(other), other)
  const at = (host: string, port = 3000): { host: string, port: number } => ({ host, port })
  t.ok(list.namesAddress('127.0.0.1', at('localhost')), 'localhost is this machine')
  t.ok(list.namesAddress('::1', at('localhost')))
  t.notOk(list.namesAddress('10.0.0.1', at('localhost')), 'and nothing else')
  t.notOk(list.namesAddress('127.0.0.1', at('a.example.org', 443)), 'for nobody else')
  t.notOk(list.namesAddress('127.0.0.1', at('localhost', 80)))
  t.ok(list.namesAddress('10.1.2.3', at('a.example.org', 8080)), 'an address that is in the list, whoever has it')
})

t.test('an entry that can\'t be read says what is wrong and what is right', async t => {
  for (const [entry, why] of [
    ['https://example.org/', /^"https:\/\/example\.org\/" is a URL; name a host, such as "api\.example\.org:443"/],
    ['example.org/path', /has a path or is a range; name a host/],
    ['10.0.0.0/8', /has a path or is a range/],
    ['me@example.org', /has the name of a user/],
    ['*', /means every host; for that, write network = true/],
    ['*:443', /means every host/],
    ['api.*.org', /may have \* as its first label only.*"\*\.example\.org"/],
    ['*example.org', /may have \* as its first label only/],
    ['*.*.org', /may have \* as its first label only/],
    ['*.10.0.0.1', /is an address, which has no subdomains/],
    ['::1', /needs brackets.*"\[::1\]" or "\[::1\]:443"/],
    ['example.org:0', /needs a port from 1 to 65535/],
    ['example.org:https', /needs a port from 1 to 65535/],
    ['example.org:', /needs a port from 1 to 65535/],
    ['example.org:80:90', /needs a port/],
    ['0x7f.1', /is the address 127\.0\.0\.1: write it in this form/],
    ['127.1:80', /is the address 127\.0\.0\.1/],
    ['exam ple.org', /is no host with or without a port, such as/],
    ['', /is no host/],
    ['*.', /is no host/]
  ] as const) t.throws(() => new NetworkList(['example.org', entry]), { message: why }, entry)
})
