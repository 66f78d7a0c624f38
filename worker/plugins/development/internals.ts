/** Data for the inspector that clients cannot read: Durable Objects with their storage, and timings of requests. On this machine only. */
import { developerNews, developerTools } from '../../engine/developer-tools.ts'
import { object } from '../../platform.ts'
import { utf8 } from '../../protocol/utf8.ts'
import type { RowsRpc } from './expose-storage.ts'
import { hopsOf } from './hops.ts'
import type { KeyState } from './inspector-key.ts'
import { hasSeen, seenObjects } from './objects.ts'
import { isLocalPage } from './own-page.ts'

const parameter = 'inside'

export const isInside = ({ searchParams }: URL): boolean => searchParams.has(parameter)

/**
 * Answers `?inside` with the objects, `?inside=rows&class=…&name=…` with the storage of one, `?inside=hops&request=…` with the timings of a
 * request, `?inside=reload` with a stream that ends when the Worker reloads, and has an event when there is news, and others with what plugins answer.
 * Answers other names with status 404. A POST to `?inside=receiver`, a callback URL, needs no key.
 */
export async function serveInternals(request: Request, key: KeyState): Promise<Response> {
  const { searchParams } = new URL(request.url)
  const what = searchParams.get(parameter) ?? ''
  const tool = developerTools.get(what)
  const isWebhook = tool && what === 'receiver' && request.method === 'POST' && isLocalPage(request)
  if (key !== 'current' && !isWebhook) return jsonAnswer({ problem: problemOf[key] }, 403)
  if (what === 'reload') return untilReload()
  if (tool) {
    const answer = await tool(request)
    return answer instanceof Response ? answer : jsonAnswer(answer)
  }
  if (what === 'hops') return jsonAnswer(hopsOf(Number(searchParams.get('request'))))
  if (what === '') return jsonAnswer(seenObjects())
  if (what !== 'rows')
    return jsonAnswer({ problem: `No plugin of this server answers "${what}" to the inspector` }, 404)
  const [className, name] = [searchParams.get('class') ?? '', searchParams.get('name') ?? '']
  if (!hasSeen(className, name))
    return jsonAnswer({ problem: `No request has reached ${className} "${name}" since the server started` }, 404)
  return jsonAnswer(await object<RowsRpc>(className, name, { hidesErrors: false }).edgemcpRows())
}

const problemOf = {
  missing: 'Only the inspector can read this: open it with the link that the terminal prints',
  earlier:
    'The inspector key of this browser is of an earlier start of the server: open the link that the terminal printed',
}

/** Milliseconds between two comments, with which the runtime notices that the page has gone. */
const keepAliveMs = 10_000
/** Milliseconds between two looks for news: a request cannot write to the stream of another one. */
const newsMs = 200

function untilReload(): Response {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
  const writer = writable.getWriter()
  const write = (text: string) => writer.write(utf8(`${text}\n\n`)).catch(() => timers.forEach(clearInterval))
  let { count } = developerNews
  const writeNews = () => {
    if (count === developerNews.count) return
    count = developerNews.count
    void write('data: news')
  }
  const timers = [setInterval(() => void write(': keep-alive'), keepAliveMs), setInterval(writeNews, newsMs)]
  void write(': keep-alive')
  return new Response(readable, {
    headers: { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' },
  })
}

const jsonAnswer = (value: unknown, status = 200): Response =>
  Response.json(value, { status, headers: { 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' } })
