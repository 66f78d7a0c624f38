/** Mistakes that tsc finds. */
import type { Mistake } from './mistakes.ts'

const content = 'Awaitable<ToolReturn<undefined>>'

/** `code` goes after `typesHead`. */
export const typed: readonly (Mistake & { readonly code: string })[] = [
  {
    mistake: 'Returns a number',
    code: "server.tool('t', { description }, () => 42)",
    message: `Type 'number' is not assignable to type '${content}'.`,
    fix: 'Return text, or declare an `outputSchema`.',
  },
  {
    mistake: 'Returns a `Response`',
    code: "server.tool('t', { description }, () => new Response('sunny'))",
    message: `Type 'Response' is not assignable to type '${content}'.`,
    fix: 'Return `await response.text()`.',
  },
  {
    mistake: 'Returns another shape than `outputSchema`',
    code: "server.tool('t', { description, outputSchema: z.object({ days: z.number() }) }, () => ({ days: 'two' }))",
    message: "Type 'string' is not assignable to type 'number'.",
    fix: '',
  },
  {
    mistake: '`input:` in place of `inputSchema:`',
    code: "server.tool('t', { description, input: z.object({}) }, () => 'sunny')",
    message:
      "Object literal may only specify known properties, and 'input' does not exist in type 'ToolDefinition<undefined, undefined>'.",
    fix: '',
  },
  {
    mistake: '`server.tool(name, text, shape, handler)`',
    code: "server.tool('t', 'Gives the weather', { city: z.string() }, () => 'sunny')",
    message: 'Expected 3 arguments, but got 4.',
    fix: 'The message at the start has the call to write.',
  },
  {
    mistake: '`server.registerTool(…)`',
    code: "server.registerTool('t', { description }, () => 'sunny')",
    message: "Property 'registerTool' does not exist on type 'Server'.",
    fix: '`server.tool(name, definition, handler)`',
  },
  {
    mistake: "`import { McpServer } from 'edgemcp'`",
    code: "import { McpServer } from 'edgemcp'",
    message: "'\"edgemcp\"' has no exported member named 'McpServer'. Did you mean 'Server'?",
    fix: '`createServer({ name, version })`: [Migrating](../migrating/index.md).',
  },
  {
    mistake: 'Takes what `ctx.once` returns for a `Date`',
    code: "server.tool('t', { description }, async (_, ctx) => String((await ctx.once('now', () => new Date())).getTime()))",
    message: "Property 'getTime' does not exist on type 'string'.",
    fix: "`new Date(await ctx.once('now', () => new Date()))`",
  },
]

export const typesHead = `import { createServer } from 'edgemcp'
import * as z from 'zod'
const server = createServer({ name: 'weather', version: '1.0.0' })
const description = 'Gives the weather'
`
