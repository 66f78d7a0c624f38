import server, * as objects from '../peers/sdk-sessions.ts'
import { counted, countedWorker } from './counting.ts'

export const SdkSession = counted(objects.SdkSession as never, []) as typeof objects.SdkSession
export default countedWorker(server as never)
