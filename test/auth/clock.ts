/** A Worker's clock that stands still, as many milliseconds after it was stopped as one says: a slow machine makes no difference. */
const now = Date.now
let [stopped, ahead] = [0, 0]

const stoppedNow = (): number => stopped + ahead

/** Answers `/clock`, which stops it, and `/clock?ahead=<milliseconds>`; nothing else. */
export function setClock({ pathname, searchParams }: URL): Response | undefined {
  if (pathname !== '/clock') return undefined
  if (!searchParams.has('ahead')) stopped = now()
  ahead = Number(searchParams.get('ahead'))
  Date.now = stoppedNow
  return new Response()
}
