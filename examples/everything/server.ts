import { createServer } from 'edgemcp'
import { jsonSchema } from 'edgemcp/json-schema'
import instructions from './documents/instructions.md'

/** The server, without its declarations: modules add them in index.ts. */
export const server = createServer({
  name: 'everything',
  title: 'Everything',
  version: '1.0.0',
  instructions,
  jsonSchema,
})
