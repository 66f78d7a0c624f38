/**
 * ChatGPT plugins: the file that fills in parts of the submission form, and a copy of the tools that were submitted.
 *
 * @see https://developers.openai.com/plugins/deploy/submission
 * @see https://developers.openai.com/plugins/schemas/chatgpt-app-submission.v1.json
 */
import { isDeepStrictEqual } from 'node:util'
import type { Finding } from '../doctor/finding.ts'
import {
  type Directory,
  isFilledIn,
  type ReadJson,
  type Shape,
  serverRule,
  toFillIn,
  toolRule,
  unfilled,
} from './directory.ts'
import { type Json, jsonText } from './json.ts'
import {
  appDocument,
  appVisibility,
  contradictingHints,
  endpointUrl,
  hiddenCharacters,
  staticToken,
  tokenInUrl,
  toolCount,
  toolDescription,
  toolName,
} from './rules.ts'
import { type ProjectSubject, paths, type Tool } from './subject.ts'

const hints = ['readOnlyHint', 'openWorldHint', 'destructiveHint'] as const

const threeHints = toolRule('three-hints', 'error', ({ name, annotations }) => {
  const missing = hints.filter((hint) => typeof annotations?.[hint] !== 'boolean')
  if (missing.length === 0) return undefined
  return {
    problem: `The tool "${name}" does not declare ${missing.join(', ')}: ChatGPT requires all three hints, and takes no defaults.`,
    fix: 'Declare each as true or false: readOnlyHint: true if the tool changes nothing, destructiveHint: true if it can delete, overwrite or send something for good, openWorldHint: true if it changes what is public or other systems.',
  }
})

const toolCharacters = toolRule('tool-characters', 'error', ({ name }) => {
  if (/^[\w-]*$/.test(name)) return undefined
  return { problem: `ChatGPT does not take the name "${name}".`, fix: 'Use letters, digits, "_" and "-".' }
})

const outputSchema = toolRule('output-schema', 'hint', ({ name, outputSchema }) => {
  if (outputSchema) return undefined
  return {
    problem: `The tool "${name}" has no outputSchema: reviewers get a warning, and the model reads its results less reliably.`,
    fix: 'Declare outputSchema, and return its value.',
  }
})

const challenge = serverRule('openai-challenge', 'hint', ({ proves, takesDiscovery }) => {
  if (proves.openAiChallenge) return undefined
  const serve = takesDiscovery
    ? 'Pass the token of the form: discovery({ openAiChallenge: env.OPENAI_CHALLENGE })'
    : 'Serve the token of the form there as text/plain, with combine() of edgemcp/compose'
  return {
    problem: `This Worker does not serve ${paths.openAiChallenge}, with which OpenAI verifies your domain.`,
    fix: `${serve}. A parent domain may serve it instead.`,
  }
})

type CspOwner = { readonly csp?: unknown; readonly domain?: unknown }
type AppMeta = {
  readonly ui?: CspOwner
  readonly 'openai/widgetCSP'?: unknown
  readonly 'openai/widgetDomain'?: unknown
}
const metaOf = (app: { readonly _meta?: object }): AppMeta => app._meta ?? {}

const appCsp = serverRule('app-csp', 'error', ({ apps }) => {
  const app = apps.find((one) => !metaOf(one).ui?.csp && !metaOf(one)['openai/widgetCSP'])
  if (!app) return undefined
  return {
    problem: `The app ${app.uri} declares no origins (CSP), which a submission needs.`,
    fix: 'List the origins that the document uses, as in app(uri, { csp: { connectDomains: [], resourceDomains: [] } }).',
  }
})

const appCspWildcard = serverRule('app-csp-wildcard', 'hint', ({ apps }) => {
  const wide = apps.flatMap((app) =>
    Object.values({ ...(metaOf(app).ui?.csp ?? metaOf(app)['openai/widgetCSP'] ?? {}) })
      .flat()
      .filter((origin) => typeof origin === 'string' && origin.includes('*'))
      .map((origin) => `${app.uri} allows ${origin}`),
  )
  if (!wide[0]) return undefined
  return {
    problem: `The app ${wide[0]}: reviewers ask for exact origins.`,
    fix: 'List each origin that the document uses.',
  }
})

const appDomain = serverRule('app-domain', 'hint', ({ apps }) => {
  const app = apps.find((one) => !metaOf(one).ui?.domain && !metaOf(one)['openai/widgetDomain'])
  if (!app) return undefined
  return {
    problem: `The app ${app.uri} declares no domain: a submission to ChatGPT needs an origin of its own for it.`,
    fix: "Declare it, as in app(uri, { domain: 'https://app.example.com' }).",
  }
})

/** ChatGPT imports what `skills/list` returns during the submission, and nothing else. */
const skillsListed = serverRule('skills-listed', 'hint', ({ entries, extensions }) => {
  const skills = entries.filter(({ kind, name }) => kind === 'resource' && name.startsWith('skill://'))
  if (skills.length === 0 || extensions.includes('io.modelcontextprotocol/skills')) return undefined
  return {
    problem: `The server has ${skills[0]?.name}, and no skills/list: ChatGPT imports no skills.`,
    fix: 'Serve the skills with server.use(skills(mySkills)) of edgemcp/skills.',
  }
})

const submissionFile = 'chatgpt-app-submission.json'
const toolsFile = 'tools.json'

/** What a user may edit. */
const submissionShape: Shape = {
  app_info: 'object',
  tools: 'map',
  test_cases: 'objects',
  negative_test_cases: 'objects',
}

export const openAi: Directory = {
  title: 'ChatGPT plugins',
  rules: [
    toolCount,
    toolName,
    toolCharacters,
    toolDescription,
    threeHints,
    contradictingHints,
    outputSchema,
    hiddenCharacters,
    appVisibility,
    appDocument,
    appCsp,
    appCspWildcard,
    appDomain,
    skillsListed,
    challenge,
    staticToken,
    endpointUrl,
    tokenInUrl,
  ],
  files(subject, read) {
    const submission = submissionOf(subject, read(submissionFile, submissionShape))
    return {
      files: [
        { file: submissionFile, text: jsonText(submission) },
        { file: toolsFile, text: jsonText({ tools: subject.tools }), isOurs: () => false },
      ],
      findings: [
        ...appInfo(submission),
        ...removedTools(submission, subject),
        ...testCases(submission, subject),
        ...changedTools(subject.tools, read),
        ...unfilled(submissionFile, submission),
      ],
    }
  },
}

type Submission = Json & {
  readonly app_info: Json
  readonly tools: Json
  readonly test_cases: TestCase[]
  readonly negative_test_cases: TestCase[]
}
type TestCase = Json & { readonly tools_triggered?: unknown }
type Existing = {
  app_info?: Json
  tools?: Record<string, SubmittedTool>
  test_cases?: TestCase[]
  negative_test_cases?: TestCase[]
}
type SubmittedTool = { annotations?: Json; justifications?: Json }

/** @param existing what a user has written is kept: the server declares the tools and their hints */
function submissionOf({ tools, server: { info, name } }: ProjectSubject, existing: Existing = {}): Submission {
  return {
    ...existing,
    $schema: 'https://developers.openai.com/plugins/schemas/chatgpt-app-submission.v1.json',
    schema_version: 1,
    app_info: {
      display_name: info.title ?? name,
      subtitle: toFillIn('at most 30 characters'),
      description: info.description ?? toFillIn('what users do with the tools, in at most 4,000 characters'),
      category: toFillIn(`one of ${categories.join(', ')}`),
      ...existing.app_info,
    },
    // A tool that was renamed has its texts under the old name.
    tools: {
      ...existing.tools,
      ...Object.fromEntries(tools.map((tool) => [tool.name, submittedTool(tool, existing.tools?.[tool.name])])),
    },
    test_cases:
      existing.test_cases ??
      Array.from({ length: tools.length && 5 }, (_, index) => testOf(tools[index % tools.length]?.name)),
    negative_test_cases: existing.negative_test_cases ?? Array.from({ length: 3 }, () => testOf(undefined)),
  }
}

function submittedTool(tool: Tool, existing: SubmittedTool = {}): SubmittedTool {
  const declared = hints.filter((hint) => typeof tool.annotations?.[hint] === 'boolean')
  const texts = declared.map((hint) => [names[hint], justification(tool, hint, existing)])
  return {
    ...existing,
    annotations: Object.fromEntries(declared.map((hint) => [hint, tool.annotations?.[hint]])),
    justifications: { ...existing.justifications, ...Object.fromEntries(texts) },
  }
}

type Hint = (typeof hints)[number]

const names: Readonly<Record<Hint, string>> = {
  readOnlyHint: 'read_only_justification',
  openWorldHint: 'open_world_justification',
  destructiveHint: 'destructive_justification',
}

/** What a tool does is known to its developer only, except for one that only reads: it changes nothing. */
function justification(
  { annotations = {} }: Tool,
  hint: Hint,
  { annotations: before, justifications }: SubmittedTool,
): string {
  const written = justifications?.[names[hint]]
  const value = annotations[hint]
  if (typeof written === 'string' && written.trim() !== '' && !isGenerated(written, hint)) {
    if (before?.[hint] === undefined || before[hint] === value) return written
    // The text is for another value of the hint.
    return toFillIn(`${hint} is ${value} now. Before, you wrote: ${written.replace(asksAgain, '')}`)
  }
  if (hint !== 'readOnlyHint' && annotations.readOnlyHint === true && value === false) return derived[hint]
  return question(hint, value === true)
}

const asksAgain = new RegExp(`^${toFillIn('\\w+ is (?:true|false) now\\. Before, you wrote: ')}`)

/** Is a text what an earlier run wrote for any value of the hint? */
const isGenerated = (text: string, hint: Hint): boolean =>
  text === question(hint, true) || text === question(hint, false) || (hint !== 'readOnlyHint' && text === derived[hint])

const question = (hint: Hint, value: boolean): string =>
  toFillIn(`${hint} is ${value}. ${questions[hint][value ? 1 : 0]}`)

const derived: Readonly<Record<Exclude<Hint, 'readOnlyHint'>, string>> = {
  openWorldHint: 'Only reads: changes nothing that is public, and nothing in other systems.',
  destructiveHint: 'Only reads: deletes, overwrites and sends nothing.',
}

/** What to write for false and for true. */
const questions: Readonly<Record<Hint, readonly [string, string]>> = {
  readOnlyHint: ['Say which data the tool changes, and where.', 'Say what the tool reads or computes.'],
  openWorldHint: [
    'Say in which private system its changes stay.',
    'Say what it changes in public or in other systems.',
  ],
  destructiveHint: [
    'Say why nothing is deleted, overwritten or sent for good.',
    'Say what cannot be undone, and what protects the user.',
  ],
}

/** @param tool `undefined` for a prompt that calls no tool */
const testOf = (tool: string | undefined): TestCase => ({
  description: toFillIn(
    tool === undefined
      ? 'a request that is close to the purpose of the server, and outside of it'
      : `what this test of ${tool} shows`,
  ),
  user_prompt: toFillIn(tool === undefined ? 'a prompt that calls no tool' : `a prompt that calls ${tool}`),
  file_attachment_urls: null,
  tools_triggered: tool ?? null,
  expected_output: toFillIn(tool === undefined ? 'what ChatGPT does instead' : 'what the user gets'),
  expected_output_url: null,
})

const categories = [
  'BUSINESS',
  'COLLABORATION',
  'DESIGN',
  'DEVELOPER_TOOLS',
  'EDUCATION',
  'ENTERTAINMENT',
  'FINANCE',
  'FOOD',
  'LIFESTYLE',
  'NEWS',
  'PRODUCTIVITY',
  'SHOPPING',
  'TRAVEL',
]

const limits = { subtitle: 30, description: 4000 }

function appInfo({ app_info: info }: Submission): Finding[] {
  const long = Object.entries(limits).flatMap(([key, most]) => {
    const length = isFilledIn(info[key]) ? [...info[key]].length : 0
    return length > most
      ? [[`${key} has ${length} characters: the form takes ${most.toLocaleString('en')}.`, 'Shorten it in this file.']]
      : []
  })
  const { category } = info
  if (isFilledIn(category) && !categories.includes(category)) {
    long.push([`The form has no category "${category}".`, `Write one of ${categories.join(', ')}.`])
  }
  return long.map(([problem = '', fix = '']) => ({
    rule: 'app-info',
    level: 'error',
    file: submissionFile,
    problem,
    fix,
  }))
}

const removedTools = ({ tools }: Submission, { tools: served }: ProjectSubject): Finding[] =>
  Object.keys(tools)
    .filter((name) => !served.some((tool) => tool.name === name))
    .map((name) => ({
      rule: 'removed-tool',
      level: 'error',
      file: submissionFile,
      problem: `The file has the tool "${name}", which the server does not have.`,
      fix: 'Move its justifications to the tool that replaces it, if there is one, and remove this tool from the file.',
    }))

function testCases(
  { test_cases: tests, negative_test_cases: negative }: Submission,
  { tools }: ProjectSubject,
): Finding[] {
  const found = (problem: string, fix: string): Finding => ({
    rule: 'test-cases',
    level: 'error',
    file: submissionFile,
    problem,
    fix,
  })
  const namesIn = ({ tools_triggered: names }: TestCase) =>
    typeof names === 'string' ? names.split(',').map((name) => name.trim()) : []
  const unknown = tests.flatMap(namesIn).find((name) => !tools.some((tool) => tool.name === name))
  const without = tests.findIndex((one) => namesIn(one).length === 0)
  const calling = negative.findIndex(({ tools_triggered: names }) => names !== null && names !== undefined)
  return [
    ...(unknown === undefined
      ? []
      : [found(`A test calls the tool "${unknown}", which the server does not have.`, 'Correct tools_triggered.')]),
    ...(without < 0
      ? []
      : [
          found(
            `test_cases.${without} names no tool that it calls.`,
            'Write names of tools into tools_triggered, separated by commas, as in "find_products, order_product".',
          ),
        ]),
    ...(calling < 0
      ? []
      : [
          found(
            `negative_test_cases.${calling} calls a tool.`,
            'Write tools_triggered: null, or move it to test_cases.',
          ),
        ]),
    ...(tests.length >= 5 && negative.length >= 3
      ? []
      : [
          found(
            `There are ${tests.length} tests, and ${negative.length} of prompts that call no tool: ChatGPT requires five and three.`,
            'Add tests to test_cases and negative_test_cases.',
          ),
        ]),
  ]
}

/** Compares the tools with those of the last submission, which ChatGPT keeps. */
function changedTools(tools: readonly Tool[], read: ReadJson): Finding[] {
  const { tools: before } = (read(toolsFile, { tools: 'objects' }) ?? {}) as { tools?: Tool[] }
  if (!before) return []
  const previous = new Map(before.map((tool) => [tool.name, tool]))
  const current = new Map(tools.map((tool) => [tool.name, tool]))
  const changes = [
    ...tools.filter(({ name }) => !previous.has(name)).map(({ name }) => `${name} is new`),
    ...before.filter(({ name }) => !current.has(name)).map(({ name }) => `${name} is gone`),
    ...tools.flatMap((tool) => {
      const members = changedMembers(previous.get(tool.name) ?? tool, tool)
      return members.length > 0 ? [`${tool.name} has another ${members.join(', ')}`] : []
    }),
  ]
  if (changes.length === 0) return []
  return [
    {
      rule: 'snapshot',
      level: 'hint',
      file: toolsFile,
      problem: `The tools differ from those in this file: ${changes.join('; ')}. ChatGPT keeps the tools that it has reviewed until you submit again.`,
      fix: 'Submit the new tools. Then delete this file and run the command again, so that it has the tools that you submitted.',
    },
  ]
}

/** @returns the names of the members that differ */
function changedMembers(before: Tool, after: Tool): string[] {
  const [old, now]: [Json, Json] = [before, JSON.parse(JSON.stringify(after))]
  return [...new Set([...Object.keys(old), ...Object.keys(now)])].filter(
    (key) => !isDeepStrictEqual(old[key], now[key]),
  )
}
