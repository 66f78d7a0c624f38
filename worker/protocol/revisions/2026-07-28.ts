/** @see https://modelcontextprotocol.io/specification/2026-07-28 */
import { newest } from '../revision.ts'

export const rev20260728 = newest('2026-07-28', { stateless: true, batching: false, polling: false }, [
  'server/discover',
  'tools/list',
  'tools/call',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'prompts/list',
  'prompts/get',
  'completion/complete',
  'subscriptions/listen',
])
