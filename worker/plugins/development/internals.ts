/** Data for the inspector that clients cannot read: Durable Objects with their storage, and timings of requests. On this machine only. */
import { object } from '../../platform.ts'
import type { RowsRpc } from './expose-storage.ts'
import { hopsOf } from './hops.ts'
import { hasSeen, seenObjects } from './objects.ts'
import { isOwnPage } from './own-page.ts'

const parameter = 'inside'

export const isInside = ({ searchParams }: URL): boolean => searchParams.has(parameter)

/**
 * Answers `?inside` with the objects, `?inside=rows&class=…&name=…` with the storage of one, and `?inside=hops&request=…` with the timings
 * of a request.
 */
export async function serveInternals(request: Request, env: object): Promise<Response> {
  if (!isOwnPage(request, env)) {
    return jsonAnswer(
      { problem: 'Only the inspector can read this: open it with the link that the terminal prints' },
      403,
    )
  }
  const { searchParams } = new URL(request.url)
  const what = searchParams.get(parameter)
  if (what === 'hops') return jsonAnswer(hopsOf(Number(searchParams.get('request'))))
  if (what !== 'rows') return jsonAnswer(seenObjects())
  const [className, name] = [searchParams.get('class') ?? '', searchParams.get('name') ?? '']
  if (!hasSeen(className, name))
    return jsonAnswer({ problem: `No request has reached ${className} "${name}" since the server started` }, 404)
  return jsonAnswer(await object<RowsRpc>(className, name, {}).edgemcpRows())
}

const jsonAnswer = (value: unknown, status = 200): Response =>
  Response.json(value, { status, headers: { 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' } })
