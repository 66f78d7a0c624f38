import server, * as objects from '../peers/agents-mcp-agent.ts'
import { counted, countedCalls, countedWorker } from './counting.ts'

export const BenchAgent = counted(objects.BenchAgent as never, []) as typeof objects.BenchAgent

export default countedWorker({
  fetch(request: Request, env: { BenchAgent: DurableObjectNamespace }, ctx: ExecutionContext) {
    return server.fetch(request, { ...env, BenchAgent: countedCalls(env.BenchAgent) }, ctx)
  },
} as never)
