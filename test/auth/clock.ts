/** A Worker's clock that stands still, as many milliseconds after it was stopped as one says: a slow machine makes no difference. */
const now = Date.now
let stopped = 0

/** Answers `/clock`, which stops it, and `/clock?ahead=<milliseconds>`; nothing else. */
export function setClock({ pathname, searchParams }: URL): Response | undefined {
  if (pathname !== '/clock') return undefined
  const ahead = searchParams.get('ahead')
  if (ahead === null) stopped = now()
  Date.now = () => stopped + Number(ahead)
  return new Response()
}
