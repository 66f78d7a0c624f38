/** Test files share a process, so that wrangler is loaded once: what one of them has changed there, the next finds as it was. */
import { afterAll, vi } from 'vitest'

const before = { ...process.env }

// Registered before the file's own, and so the last to run.
afterAll(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
  vi.restoreAllMocks()
  for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name]
  Object.assign(process.env, before)
})
