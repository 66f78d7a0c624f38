/** No server at all: what a process needs to start and answer. */
export default {
  fetch: (): Response => Response.json({}),
}
