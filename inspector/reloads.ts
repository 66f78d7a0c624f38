/** Follows the reloads of the server, which break its connections. In development only. */
import { EventStreamReader } from '../worker/client/event-stream-reader.ts'

export type ReloadHandlers = {
  /** Something has happened in the server that it tells no client. */
  onNews(): unknown
  /** The server stopped, or reloads. */
  onLost(): unknown
  /** The server responds again. */
  onBack(): unknown
  /** The server responds again, and refuses the key of this page. */
  onRefused(problem: string): unknown
}

/** Milliseconds after which the page tries again to reach a server that does not respond. */
const pauseMs = 500

/** @param address the URL of a stream that ends when the server reloads */
export async function followReloads(
  address: string,
  { onNews, onLost, onBack, onRefused }: ReloadHandlers,
): Promise<void> {
  const page = new AbortController()
  addEventListener('pagehide', () => page.abort())
  let isLost = false
  while (!page.signal.aborted) {
    const response = await fetch(address, { signal: page.signal }).catch(() => undefined)
    if (response?.ok) {
      if (isLost) onBack()
      isLost = false
      const events = new EventStreamReader()
      const write = (chunk: Uint8Array) => [...events.read(chunk)].forEach(onNews)
      await response.body?.pipeTo(new WritableStream({ write })).catch(() => {})
    } else if (response) {
      const { problem } = (await response.json().catch(() => ({}))) as { problem?: string }
      onRefused(problem ?? `HTTP ${response.status}`)
      isLost = true
      // The developer may open the link in another tab.
      await new Promise((resolve) => addEventListener('focus', resolve, { once: true }))
      continue
    }
    if (page.signal.aborted) return
    if (!isLost) onLost()
    isLost = true
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
}
