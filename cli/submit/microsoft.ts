/**
 * Microsoft 365 Copilot and Copilot Studio: the plugin manifest 2.4, and schemas that both accept.
 *
 * @see https://learn.microsoft.com/microsoft-365-copilot/extensibility/plugin-manifest-2.4
 * @see https://learn.microsoft.com/microsoft-copilot-studio/mcp-troubleshooting
 */
import type { Finding } from '../doctor/finding.ts'
import { type Directory, toFillIn, toolRule, unfilled, withOwn } from './directory.ts'
import { type Json, jsonText } from './json.ts'
import { type Part, partsOf } from './json-schema.ts'
import { endpointUrl, tokenInUrl, toolCount } from './rules.ts'
import type { ProjectSubject } from './subject.ts'

const longest = 1024
const name = ({ path }: Part) => (path === '' ? 'the schema' : `"${path}"`)

const schemaRef = toolRule('schema-ref', 'error', (tool) => {
  const kind = (['inputSchema', 'outputSchema'] as const).find((key) =>
    partsOf(tool[key]).some(({ schema }) => typeof schema.$ref === 'string'),
  )
  if (!kind) return undefined
  return {
    problem: `The ${kind} of the tool "${tool.name}" has a $ref: Copilot Studio leaves the tool out, without an error.`,
    fix: 'Write the schema in each place: in zod, without .meta({ id }) and without a schema that contains itself.',
  }
})

const exclusiveMinimum = toolRule('schema-exclusive-minimum', 'error', (tool) => {
  const part = partsOf(tool.inputSchema).find(({ schema }) => Number.isInteger(schema.exclusiveMinimum))
  if (!part) return undefined
  const { exclusiveMinimum: bound, type } = part.schema
  const isInteger = type === 'integer'
  return {
    problem: `${capital(name(part))} of the tool "${tool.name}" has exclusiveMinimum: ${bound}: Copilot Studio fails with a System.FormatException.`,
    fix: isInteger
      ? `Write minimum: ${Number(bound) + 1}, in zod .min(${Number(bound) + 1}) instead of .positive() or .gt(${bound}).`
      : `Write minimum, in zod .min(…) instead of .positive() or .gt(${bound}), and check the bound in the handler.`,
  }
})

const typeList = toolRule('schema-type-list', 'error', (tool) => {
  const part = partsOf(tool.inputSchema).find(({ schema }) => Array.isArray(schema.type))
  if (!part) return undefined
  return {
    problem: `${capital(name(part))} of the tool "${tool.name}" has several types, ${JSON.stringify(part.schema.type)}: Copilot Studio cuts off the schema.`,
    fix: 'Write one type. Instead of null, make the argument optional.',
  }
})

const enums = toolRule('schema-enum', 'hint', (tool) => {
  const part = partsOf(tool.inputSchema).find(({ schema }) => {
    const texts = `${schema.description ?? ''}\n${tool.description ?? ''}`
    const values = Array.isArray(schema.enum) ? schema.enum.filter((value) => typeof value === 'string') : []
    return values.some((value) => !texts.includes(value))
  })
  if (!part) return undefined
  return {
    problem: `Copilot Studio reads ${name(part)} of the tool "${tool.name}" as any string: it ignores enum.`,
    fix: 'Name the values in the description of the argument.',
  }
})

const descriptions = toolRule('description-length', 'error', (tool) => {
  const texts: Part[] = [{ path: '', schema: { description: tool.description } }, ...partsOf(tool.inputSchema)]
  const long = texts.find(({ schema }) => String(schema.description ?? '').length > longest)
  if (!long) return undefined
  return {
    problem: `The description of ${long.path === '' ? 'the tool' : `"${long.path}" of the tool`} "${tool.name}" has ${String(long.schema.description).length} characters: Microsoft 365 Copilot ignores what follows the first ${longest.toLocaleString('en')}.`,
    fix: `Shorten it to ${longest.toLocaleString('en')} characters, with the most important sentences first.`,
  }
})

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)

const file = 'ai-plugin.json'

export const microsoft: Directory = {
  title: 'Microsoft 365 Copilot',
  rules: [toolCount, schemaRef, exclusiveMinimum, typeList, enums, descriptions, endpointUrl, tokenInUrl],
  files(subject, read) {
    const { url } = subject.server
    if (url === undefined) return { files: [{ file, text: undefined }] }
    const manifest = manifestOf(subject, read(file, { runtimes: 'objects' }))
    return {
      files: [{ file, text: jsonText(manifest) }],
      findings: [...unfilled(file, manifest), ...longTexts(manifest)],
    }
  },
}

/** The type of a runtime's `auth`. The vault contains what an administrator registers, and gives it an id. */
const vaults = { none: 'None', oauth: 'OAuthPluginVault', static: 'ApiKeyPluginVault' }

/** @param existing what a user has written is kept: the server declares the URL and how callers authenticate */
function manifestOf({ server: { info, name, url, auth } }: ProjectSubject, existing: Json = {}): Json {
  const { runtimes } = existing as { runtimes?: Runtime[] }
  const type = vaults[auth]
  return {
    schema_version: 'v2.4',
    name_for_human: info.title ?? name,
    namespace: name.replace(/[^A-Za-z0-9]/g, '') || 'server',
    description_for_human: info.description ?? toFillIn('say in at most 100 characters what the plugin does'),
    // The agent finds the tools when it runs.
    functions: [],
    ...existing,
    runtimes: withOwn(
      runtimes,
      (runtime) => runtime.type === 'RemoteMCPServer',
      (own = {}) => {
        const id = own.auth?.type === type ? own.auth.reference_id : undefined
        return {
          run_for_functions: ['*'],
          ...own,
          type: 'RemoteMCPServer',
          auth: {
            ...own.auth,
            type,
            ...(type !== 'None' && { reference_id: id ?? toFillIn('the id of the registered credential') }),
          },
          spec: { ...own.spec, url },
        }
      },
    ),
  }
}

type Runtime = Json & {
  readonly auth?: { readonly type?: string; readonly reference_id?: string }
  readonly spec?: Json
}

/** Characters of texts, after which Copilot may ignore the rest. */
const limits = { name_for_human: 20, description_for_human: 100, description_for_model: 2048 }

const longTexts = (manifest: Json): Finding[] =>
  Object.entries(limits).flatMap(([key, most]) => {
    const text = manifest[key]
    if (typeof text !== 'string' || text.length <= most) return []
    return [
      {
        rule: 'manifest-text',
        level: 'hint',
        file,
        problem: `${key} has ${text.length} characters: Copilot may ignore what follows the first ${most.toLocaleString('en')}.`,
        fix: 'Shorten it in this file. The next run keeps it.',
      },
    ]
  })
