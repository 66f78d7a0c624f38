/** Declares servers in the Worker of `declared/`, whatever their options are. */
import { startServer, type TestServer } from '../support/server.ts'

export const startDeclared = (): Promise<TestServer> => startServer('test/auth/declared')

let last = 0

/**
 * @param preset a name of `presets` there
 * @returns the endpoint
 * @throws Error with what was said of the declaration
 */
export async function declare(
  { url }: TestServer,
  options: object = {},
  { preset = 'bearer', reached }: { preset?: string; reached?: string } = {},
): Promise<URL> {
  last += 1
  const path = `server-${last}`
  const body = JSON.stringify({ path, preset, options, reached })
  const response = await fetch(new URL('/declare', url), { method: 'POST', body })
  if (!response.ok) throw new Error(await response.text())
  return new URL(`/${path}/mcp`, url)
}

/** Stops the server's clock. */
export const stopClock = ({ url }: TestServer) => fetch(new URL('/clock', url))

/** Sets the server's clock to so many milliseconds after it was stopped. */
export const ahead = ({ url }: TestServer, milliseconds: number) => fetch(new URL(`/clock?ahead=${milliseconds}`, url))
