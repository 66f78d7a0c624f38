import server, * as objects from '../edgemcp.ts'
import { counted, countedWorker } from './counting.ts'

export const McpSession = counted(objects.McpSession, ['post', 'end', 'changed', 'put', 'get', 'consume', 'keys'])
export default countedWorker(server)
