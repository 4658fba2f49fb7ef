/** The part that needs the client's package, loaded when the first server is needed. */
export { parseJSONRPCMessage } from '@modelcontextprotocol/client'
export { StdioTransport } from '../process/stdio-transport.ts'
export { Connection } from './connection.ts'
export { mayBeOlder, remoteFault, serverSentEvents, sessionFault, streamable, wantsLogin } from './remote.ts'
