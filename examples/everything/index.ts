/** A server with every feature of the protocol, equal to the reference server. */
import { serve } from 'edgemcp'
import { sessions } from 'edgemcp/sessions'
import { subscriptions } from 'edgemcp/subscriptions'
import { tasks } from 'edgemcp/tasks'
import { gzip } from './gzip.ts'
import { prompts } from './prompts.ts'
import { requests } from './requests.ts'
import { research } from './research.ts'
import { resources } from './resources.ts'
import { server } from './server.ts'
import { simulations, subscribers } from './simulations.ts'
import { tools } from './tools.ts'

server.use(tools).use(resources).use(gzip).use(requests).use(research).use(prompts).use(simulations)

const worker = serve(server, { plugins: [sessions(), subscriptions(), tasks(), subscribers] })
export default worker
export const { McpSession, McpSubscriptions, McpTask } = worker
export { McpState } from 'edgemcp/state'
export { Simulation } from './simulation.ts'
