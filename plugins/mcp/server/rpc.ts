/** Refuses a whole HTTP request, so that no single message of it gets an answer. */
export function rpcError (status: number, code: number, message: string): Response {
  return Response.json({ jsonrpc: '2.0', error: { code, message }, id: null }, { status })
}
