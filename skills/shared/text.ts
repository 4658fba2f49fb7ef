export { decodeText, isText, typeOf } from '../../plugins/toolkit/net/text.ts'
