import server, * as objects from '../edgemcp.ts'
import { counted, countedWorker } from './counting.ts'

export const McpSession = counted(objects.McpSession, ['post', 'end', 'changed', 'keep', 'kept', 'claim'])
export const McpSubscriptions = counted(objects.McpSubscriptionsptions, ['keys'])
export default countedWorker(server)
