/** A refusal of a request as a whole, which no message of it answers. */
export function rpcError (status: number, code: number, message: string): Response {
  return Response.json({ jsonrpc: '2.0', error: { code, message }, id: null }, { status })
}
