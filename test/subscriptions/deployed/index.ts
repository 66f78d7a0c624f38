/** Version 1 of a server whose declarations change. */
import { serve } from 'edgemcp'
import { sessions } from 'edgemcp/sessions'
import { subscriptions } from 'edgemcp/subscriptions'
import { declaredServer } from './declared.ts'

const worker = serve(declaredServer('1'), { plugins: [sessions(), subscriptions()] })
export default worker
export const { McpSession, McpSubscriptions } = worker
