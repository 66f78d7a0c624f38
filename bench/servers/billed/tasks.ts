import server, * as objects from '../../../test/tasks/server/index.ts'
import { counted, countedWorker } from './counting.ts'

export const McpSession = counted(objects.McpSession, ['post', 'end', 'changed', 'put', 'get', 'consume', 'keys'])
export const McpSubscriptions = counted(objects.McpSubscriptions, [
  'publish',
  'subscribe',
  'unsubscribe',
  'unsubscribeAll',
])
export const McpTask = counted(objects.McpTask, ['start', 'get', 'update', 'cancel'])
export default countedWorker(server)
