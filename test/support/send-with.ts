/**
 * Returns a target for `connect` that adds headers to each request. A test may change them between requests.
 *
 * @param sent the headers, by name
 */
export function sendWith(sent: Readonly<Record<string, string>>): (request: Request) => Promise<Response> {
  // The signal of a request is aborted only as long as the request is referenced.
  const requests: Request[] = []
  return (request) => {
    requests.push(request)
    for (const [name, value] of Object.entries(sent)) request.headers.set(name, value)
    return fetch(request)
  }
}
