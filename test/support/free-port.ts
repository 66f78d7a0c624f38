import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * Below the ephemeral ports of Linux (32768) and macOS (49152). The system gives those to every server that listens on port 0 and to every
 * outgoing connection, so that one of them can be taken between the check and the use.
 */
const [lowest, highest] = [20_000, 32_000]

/**
 * Finds ports of this machine that nothing listens on.
 *
 * @param count how many successive ports have to be free
 * @returns the first of them
 */
export async function freePort(count = 1): Promise<number> {
  for (;;) {
    const port = randomInt(lowest, highest)
    const ports = Array.from({ length: count }, (_, index) => port + index)
    if ((await Promise.all(ports.map(isFree))).every(Boolean)) return port
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1')
  const isListening = await once(server, 'listening').then(
    () => true,
    () => false,
  )
  if (isListening) await once(server.close(), 'close')
  return isListening
}
