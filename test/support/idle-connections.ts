// Opens connections to a port of this machine and leaves them idle, until its standard input ends: `node
// idle-connections.js PORT COUNT`.
import { connect, type Socket } from 'node:net'

const port = Number(process.argv[2])
const count = Number(process.argv[3])
let connected = 0
for (let opened = 0; opened < count; opened += 500) {
  // In parts: the queue of connections to be accepted is short.
  await Promise.all(Array.from({ length: Math.min(500, count - opened) }, (_, i) => open(opened + i)))
}
console.log(`${connected} connected`)
process.stdin.on('end', () => { process.exit() }).resume()

/** Some say nothing, some begin a head, some a body. */
function open (i: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1' }, () => {
      connected++
      if (i % 3 === 1) socket.write('GET /api/version HTTP/1.1\r\nHost: localhost\r\n')
      if (i % 3 === 2) {
        socket.write('POST /api/execute HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{')
      }
      resolve(socket)
    })
    socket.on('error', connected === count ? () => {} : reject)
  })
}
