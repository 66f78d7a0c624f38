import { join } from 'node:path'

/** Starts the Worker of a folder as it is now: later changes of its code are not noticed. Resolves when it answers. */
export async function startWorker(folder: string, port: number, data: string | undefined, logLevel: 'warn' | 'none') {
  const { unstable_startWorker: start } = await import('wrangler')
  const worker = await start({
    config: join(folder, 'wrangler.toml'),
    dev: {
      server: { hostname: '127.0.0.1', port },
      inspector: false,
      persist: data,
      logLevel,
      watch: false,
    },
  })
  await worker.ready
  return worker
}
