/**
 * Anthropic's Connectors Directory. It has a form, and takes no file.
 *
 * @see https://claude.com/docs/connectors/building/review-criteria
 */
import { escapeRegExp } from '../doctor/code.ts'
import { type Directory, toolRule } from './directory.ts'
import { partsOf } from './json-schema.ts'
import {
  appDocument,
  appVisibility,
  contradictingHints,
  endpointUrl,
  hiddenCharacters,
  staticToken,
  tokenInUrl,
  toolDescription,
  toolName,
} from './rules.ts'
import type { ProjectSubject, Tool } from './subject.ts'

const titleOf = ({ title, annotations }: Tool): string | undefined => title?.trim() || annotations?.title?.trim()

const toolTitle = toolRule('tool-title', 'error', (tool) => {
  if (titleOf(tool)) return undefined
  return {
    problem: `The tool "${tool.name}" has no title, which each tool needs.`,
    fix: "Add a name for users, such as title: 'Find products'.",
  }
})

const toolHints = toolRule('tool-hints', 'error', ({ name, annotations }) => {
  if (annotations?.readOnlyHint !== undefined || annotations?.destructiveHint !== undefined) return undefined
  return {
    problem: `The tool "${name}" declares neither readOnlyHint nor destructiveHint.`,
    fix: 'Write annotations: { readOnlyHint: true } if it only reads, or annotations: { destructiveHint: true } if it changes or deletes data.',
  }
})

const writeHint = toolRule('write-hint', 'hint', ({ name, annotations }) => {
  if (annotations?.readOnlyHint === undefined && annotations?.destructiveHint === undefined) return undefined
  if (annotations.readOnlyHint === true || annotations.destructiveHint === true) return undefined
  return {
    problem: `The tool "${name}" declares neither readOnlyHint: true nor destructiveHint: true. The review criteria ask for the second one on tools that modify data, also if they only add some.`,
    fix: 'Write destructiveHint: true, or explain in the form why the tool changes nothing that exists.',
  }
})

const safe = /^(?:GET|HEAD|OPTIONS)$/i
const unsafe = /^(?:POST|PUT|PATCH|DELETE)$/i

/** One tool for all HTTP methods: what it declares shows it. */
const readAndWrite = toolRule('read-and-write', 'error', ({ name, annotations, inputSchema }) => {
  // One that only reads may take a method as a filter.
  if (annotations?.readOnlyHint === true) return undefined
  // Alternatives of one argument have one path.
  const values = new Map<string, string[]>()
  for (const { path, schema } of partsOf(inputSchema)) {
    values.set(path, [...(values.get(path) ?? []), ...[schema.enum ?? [], schema.const ?? []].flat().map(String)])
  }
  const [path] =
    [...values].find(([, named]) => named.some((one) => safe.test(one)) && named.some((one) => unsafe.test(one))) ?? []
  if (path === undefined) return undefined
  return {
    problem: `The tool "${name}" reads and writes: its argument "${path}" takes safe and unsafe HTTP methods.`,
    fix: 'Make a tool that reads, and one for each kind of change.',
  }
})

/**
 * Returns what finds the name of a tool in a text. A word of the language may be the name of a tool as well: only a name that cannot be one is
 * certain, and one with a hyphen in quotes.
 */
function mentionOf(name: string): RegExp | undefined {
  if (/[a-z\d]_[a-z\d]|[a-z\d][A-Z]/.test(name)) return new RegExp(`(?<![\\w-])${escapeRegExp(name)}(?![\\w-])`)
  return name.includes('-') ? new RegExp(`(['"\`])${escapeRegExp(name)}\\1`) : undefined
}

const otherTools = toolRule('names-other-tools', 'hint', ({ name, description = '', inputSchema }, { tools }) => {
  const properties = new Set(partsOf(inputSchema).map(({ path }) => path.split('.').at(-1)))
  const named = tools
    .map((tool) => tool.name)
    .filter((other) => other !== name && !properties.has(other) && mentionOf(other)?.test(description))
  if (named.length === 0) return undefined
  return {
    problem: `The description of the tool "${name}" names other tools: ${named.join(', ')}. Reviewers refuse descriptions that direct Claude to tools that the user did not ask for.`,
    fix: 'Describe this tool alone. What belongs to several tools goes into instructions of createServer().',
  }
})

/** Sentences that tell a model how to behave, whatever the tool does. */
const steering = [
  /\bignore (?:all |any )?(?:the )?(?:previous|prior|earlier|other|above) (?:instructions|prompts|tools)\b/i,
  /\b(?:do not|don't|never) (?:tell|inform|reveal (?:this |it )?to|mention (?:this |it )?to) the user\b/i,
  /\b(?:do not|don't|never) (?:use|call|invoke) (?:any )?other tools?\b/i,
  /\b(?:always|must) (?:use|call|invoke|run) this tool (?:first|before (?:any|every|all) other)/i,
  /\binstead of (?:any |all )?other (?:tools|servers|connectors)\b/i,
]

const steersModel = toolRule('steers-model', 'hint', ({ name, description = '' }) => {
  const [found] = steering.flatMap((pattern) => pattern.exec(description)?.[0] ?? [])
  if (found === undefined) return undefined
  return {
    problem: `The description of the tool "${name}" contains "${found}": reviewers refuse descriptions that tell Claude how to behave.`,
    fix: 'Describe what the tool does and when it is useful.',
  }
})

export const anthropic: Directory = {
  title: "Anthropic's Connectors Directory",
  rules: [
    toolName,
    toolTitle,
    toolDescription,
    toolHints,
    writeHint,
    contradictingHints,
    readAndWrite,
    otherTools,
    steersModel,
    hiddenCharacters,
    appVisibility,
    appDocument,
    staticToken,
    endpointUrl,
    tokenInUrl,
  ],
  files: (subject) => ({
    files: [{ file: 'tools.md', text: formTexts(subject), isOurs: (existing) => existing.startsWith(mark) }],
  }),
}

const mark = '<!-- Generated by `npx edgemcp submit anthropic`: do not edit this file, run the command again. -->'

const signIns = { none: 'none', oauth: 'OAuth', static: 'a credential that is no token of OAuth' }

/** What the form asks for and the server declares. */
function formTexts({ tools, server: { info, name, url, auth } }: ProjectSubject): string {
  const cell = (text = '') => text.replace(/\s+/g, ' ').replaceAll('|', '\\|').trim()
  const kind = ({ annotations = {} }: Tool) =>
    [annotations.readOnlyHint && 'read-only', annotations.destructiveHint && 'destructive'].filter(Boolean).join(', ')
  return [
    mark,
    '',
    `# ${info.title ?? name}`,
    '',
    ...(info.description ? [info.description, ''] : []),
    `- URL: ${url ?? 'unknown'}`,
    `- Transport: Streamable HTTP`,
    `- Authentication: ${signIns[auth]}`,
    '',
    '| tool | title | annotations | description |',
    '|---|---|---|---|',
    ...tools.map((tool) => `| \`${tool.name}\` | ${cell(titleOf(tool))} | ${kind(tool)} | ${cell(tool.description)} |`),
    '',
  ].join('\n')
}
