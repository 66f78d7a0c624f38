/** A Worker without a server: measures the start of the process and its first response. */
export default {
  fetch: (): Response => Response.json({}),
}
