import { type RunningServer, startServer } from '../../../worker/testing/node/index.ts'

/** Starts the example. Its configuration names its own origin, which is known when it listens. */
export async function startProvider(vars: Record<string, string>): Promise<RunningServer> {
  const server = await startServer({ config: 'examples/oauth-provider/wrangler.toml', vars })
  const { origin } = server.url
  await server.harness.update(({ workers, ...options }) => ({
    ...options,
    workers: workers.map((worker) => ({ ...worker, vars: { ...vars, ORIGIN: origin } })),
  }))
  const { url } = await server.harness.listen()
  if (url.origin !== origin) throw new Error(`The server moved from ${origin} to ${url.origin}`)
  return server
}
