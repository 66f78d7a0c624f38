/** A server with every fixture that the official conformance suite calls. */
import { createServer, serve } from 'edgemcp'
import { jsonSchema } from 'edgemcp/json-schema'
import { sessions } from 'edgemcp/sessions'
import { skills } from 'edgemcp/skills'
import { subscriptions } from 'edgemcp/subscriptions'
import { tasks } from 'edgemcp/tasks'
import { gitSkills } from './git-skills.ts'
import { inputRequired } from './input-required.ts'
import { notifying } from './notifying.ts'
import { prompts } from './prompts.ts'
import { questions } from './questions.ts'
import { resources } from './resources.ts'
import { tasks as taskTools } from './tasks.ts'
import { tools } from './tools.ts'

const server = createServer({ name: 'conformance', version: '1.0.0', jsonSchema })
  .use(tools)
  .use(notifying)
  .use(questions)
  .use(inputRequired)
  .use(resources)
  .use(prompts)
  .use(taskTools)
  .use(skills(gitSkills))

const worker = serve(server, { plugins: [sessions(), subscriptions(), tasks()] })
export default worker
export const { McpSession, McpSubscriptions, McpTask } = worker
