/** The least there can be: a Worker that parses a stateless request and answers it. */
import { listed, type Request as Message, said, statelessResult } from './wire.ts'

export default {
  async fetch(request: Request): Promise<Response> {
    const { id, method, params } = await request.json<Message & { id: number }>()
    const result = method === 'tools/list' ? listed : said(params.arguments?.text)
    return Response.json({ jsonrpc: '2.0', id, result: statelessResult(method, result) })
  },
}
