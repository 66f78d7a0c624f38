/** Entries with limits, whose visibility other calls of a batch change. */
import { createServer, serve } from 'edgemcp'
import { rateLimit } from 'edgemcp/rate-limit'
import { sessions } from 'edgemcp/sessions'

const server = createServer({ name: 'waiting', version: '1.0.0' })

let isOn = true
server.tool('off', { description: 'Hides the others' }, () => {
  isOn = false
  return 'off'
})
server.tool(
  'limited',
  { description: 'Is visible while it is on', visibleTo: () => isOn, rateLimit: { concurrent: 5 } },
  () => 'limited ran',
)

const worker = serve(server, { plugins: [sessions(), rateLimit()] })
export default worker
export const { McpSession } = worker
export { McpState } from 'edgemcp/state'
