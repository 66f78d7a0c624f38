/** Declarations that end the start of a Worker. */
import * as z from 'zod'
import * as z3 from 'zod/v3'
import { createServer } from '../../../worker/declarations/server.ts'
import { bearer } from '../../../worker/plugins/auth/index.ts'
import type { Mistake } from './mistakes.ts'

/** A server as JavaScript uses it: a type checker would refuse most of what is declared here. */
type Loose = Record<string, (...args: unknown[]) => unknown>

type StartupMistake = Mistake & {
  /** Declares on a new server. @throws the message */
  readonly declare: (server: Loose) => unknown
}

export const newServer = () => createServer({ name: 'mistakes', version: '1.0.0' }) as unknown as Loose

const description = 'Gives the weather of a city'
const handler = () => 'sunny'
const city = z.object({ city: z.string() })

export const startup: readonly StartupMistake[] = [
  {
    mistake: '`inputSchema: z.string()`',
    declare: (server) => server.tool?.('weather', { description, inputSchema: z.string() }, handler),
    message: 'The inputSchema of tool "weather" must be an object schema: wrap it in an object with one property',
    fix: '`inputSchema: z.object({ city: z.string() })`',
  },
  {
    mistake: '`inputSchema: { city: z.string() }`, the raw shape of the official SDK',
    declare: (server) => server.tool?.('weather', { description, inputSchema: { city: z.string() } }, handler),
    message: 'The inputSchema of tool "weather" is an object of schemas: wrap it, as in z.object({ city: … })',
    fix: '',
  },
  {
    mistake: '`z.date()` in an input',
    declare: (server) => server.tool?.('weather', { description, inputSchema: z.object({ day: z.date() }) }, handler),
    message:
      'The "day" of the inputSchema of tool "weather" has no JSON Schema form: Date cannot be represented in JSON Schema. Use what JSON has, such as z.iso.datetime()',
    fix: '`z.iso.date()` is a day, `z.iso.datetime()` a time, both as text.',
  },
  {
    mistake: 'zod 3',
    declare: (server) =>
      server.tool?.('weather', { description, inputSchema: z3.object({ city: z3.string() }) }, handler),
    message:
      'The inputSchema of tool "weather" cannot be converted to JSON Schema: use zod 4.2 or newer, arktype, or toStandardJsonSchema() of @valibot/to-json-schema',
    fix: '`npm install zod@latest`',
  },
  {
    mistake: 'A plain JSON Schema',
    declare: (server) => server.tool?.('weather', { description, inputSchema: { type: 'object' } }, handler),
    message:
      'The inputSchema of tool "weather" is a plain JSON Schema: write createServer({ …, jsonSchema }), with jsonSchema of "edgemcp/json-schema"',
    fix: '',
  },
  {
    mistake: 'Two tools of one name',
    declare: (server) => {
      server.tool?.('weather', { description }, handler)
      server.tool?.('weather', { description }, handler)
    },
    message: 'The tool "weather" is registered twice: rename one, or use its module with a prefix',
    fix: '',
  },
  {
    mistake: 'A name with a space',
    declare: (server) => server.tool?.('the weather', { description }, handler),
    message: 'The tool name "the weather" must be 1 to 128 letters, digits, "_", "." or "-"',
    fix: 'Give it a `title` for people.',
  },
  {
    mistake: 'No description',
    declare: (server) => server.tool?.('weather', { inputSchema: city }, handler),
    message: 'The tool "weather" needs a description: models choose tools by it',
    fix: '',
  },
  {
    mistake: "`server.tool('weather', 'Gives …', { city: z.string() }, handler)`, of the official SDK",
    declare: (server) => server.tool?.('weather', description, { city: z.string() }, handler),
    message:
      'The tool "weather" has "Gives the weather of a city" in place of its definition: write server.tool("weather", { description: "…", inputSchema: z.object({ … }) }, handler)',
    fix: '',
  },
  {
    mistake: "`server.tool('weather', handler)`",
    declare: (server) => server.tool?.('weather', handler),
    message:
      'The tool "weather" has a function in place of its definition: write server.tool("weather", { description: "…", inputSchema: z.object({ … }) }, handler)',
    fix: '',
  },
  {
    mistake: '`server.registerTool(…)`, of the official SDK',
    declare: (server) => server.registerTool?.('weather', { description, inputSchema: city }, handler),
    message:
      'edgemcp has no server.registerTool(): write server.tool(name, { description, inputSchema: schema }, handler)',
    fix: '',
  },
  {
    mistake: '`server.connect(transport)`, of the official SDK',
    declare: (server) => server.connect?.({}),
    message: 'edgemcp has no server.connect(): write export default serve(server) in place of a transport',
    fix: '',
  },
  {
    mistake: '`server.addTool({ name, parameters, execute })`, of FastMCP',
    declare: (server) => server.addTool?.({ name: 'weather', parameters: city, execute: handler }),
    message: 'edgemcp has no server.addTool(): write server.tool(name, { description, inputSchema: schema }, handler)',
    fix: '',
  },
  {
    mistake: '`input:` in place of `inputSchema:`',
    declare: (server) => server.tool?.('weather', { description, input: city }, handler),
    message: 'tool "weather" does not take "input": write "inputSchema"',
    fix: '',
  },
  {
    mistake: '`parameters:`, of FastMCP',
    declare: (server) => server.tool?.('weather', { description, parameters: city }, handler),
    message: 'tool "weather" does not take "parameters": write "inputSchema"',
    fix: '',
  },
  {
    mistake: '`execute:` or `handler:` in the definition',
    declare: (server) => server.tool?.('weather', { description, execute: handler }),
    message: 'tool "weather" does not take "execute": give the handler as the third argument',
    fix: '',
  },
  {
    mistake: 'A misspelled option',
    declare: (server) => server.tool?.('weather', { description, inptuSchema: city }, handler),
    message:
      'tool "weather" does not take "inptuSchema" (did you mean "inputSchema"?): it takes title, description, icons, _meta, inputSchema, outputSchema, annotations, singleUse, task, scopes, rateLimit, listWithoutScopes, visibleTo and enabled',
    fix: '',
  },
  {
    mistake: "`createServer('weather')`",
    declare: () => createServer('weather' as never),
    message:
      'createServer() takes an object with name, version, title, description, icons, websiteUrl, instructions, experimental, caching, pageSize and jsonSchema, not "weather"',
    fix: "`createServer({ name: 'weather', version: '1.0.0' })`",
  },
  {
    mistake: "`scopes: 'notes:read'`",
    declare: (server) => server.tool?.('weather', { description, scopes: 'notes:read' }, handler),
    message: '"scopes" of tool "weather" must be a list such as [\'notes:read\'], not "notes:read"',
    fix: '',
  },
  {
    mistake: "`rateLimit: { rate: '60 per minute' }`",
    declare: (server) => server.tool?.('weather', { description, rateLimit: { rate: '60 per minute' } }, handler),
    message: '"rateLimit.rate" of tool "weather" must be a string such as \'60/m\' or \'10/10s\', not "60 per minute"',
    fix: '',
  },
  {
    mistake: 'A number as the argument of a prompt',
    declare: (server) =>
      server.prompt?.('plan', { description, argsSchema: z.object({ days: z.number() }) }, () => 'Plan it'),
    message: 'The argument "days" of prompt "plan" must be a string: clients send only strings',
    fix: '`z.string().pipe(z.coerce.number())`',
  },
  {
    mistake: 'A URI template that is not closed',
    declare: (server) => server.resource?.('note://{id', { description }, handler),
    message: 'Invalid URI template "note://{id": write variables as {name}',
    fix: '',
  },
  {
    mistake: 'A resource without a scheme',
    declare: (server) => server.resource?.('notes', { description }, handler),
    message: 'The resource "notes" needs a URI with a scheme, such as "note://notes"',
    fix: '',
  },
  {
    mistake: 'An issuer without `https://`',
    declare: () => bearer({ issuer: 'auth.example.com' }),
    message: 'The issuer "auth.example.com" must be an https URL',
    fix: '',
  },
]
