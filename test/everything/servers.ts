/** Starts the reference server and examples/everything, with equal settings. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { freePort } from '../support/free-port.ts'
import { startServer, type TestServer } from '../support/server.ts'

/** Small limits of `gzip-file-as-resource`, which tests exceed soon, and a busy machine does not. */
const settings = {
  GZIP_MAX_FETCH_SIZE: '1000',
  GZIP_MAX_FETCH_TIME_MILLIS: '3000',
  GZIP_ALLOWED_DOMAINS: 'localhost',
}

export type ReferenceServer = { readonly url: URL } & AsyncDisposable

/** Starts the published reference server in a process of its own, with its transport Streamable HTTP. */
export async function startReference(): Promise<ReferenceServer> {
  const port = await freePort()
  const script = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'))
  const child = spawn(process.execPath, [script, 'streamableHttp'], {
    env: { ...settings, PORT: String(port) },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const end = () => void child.kill('SIGKILL')
  process.on('exit', end)
  let printed = ''
  const isListening = new Promise<void>((resolve, reject) => {
    child.stderr.on('data', (chunk) => {
      printed += chunk
      if (printed.includes('listening on port')) resolve()
    })
    child.once('close', () => reject(new Error(`The reference server did not start:\n${printed}`)))
  })
  await isListening
  return {
    url: new URL(`http://127.0.0.1:${port}/mcp`),
    async [Symbol.asyncDispose]() {
      process.off('exit', end)
      const closed = once(child, 'close')
      end()
      await closed
    },
  }
}

export const startExample = (): Promise<TestServer> => startServer('examples/everything', settings)
