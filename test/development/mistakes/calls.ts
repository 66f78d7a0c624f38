/** Mistakes of handlers: what a client gets of a tool of `index.ts`, or what `wrangler dev` prints. */
import type { Mistake } from './mistakes.ts'

type CallMistake = Mistake & {
  /** As `index.ts` has it. */
  readonly tool: string
  readonly args?: Record<string, unknown>
  /** The client of which protocol version. Default: of each. */
  readonly of?: 'session' | 'stateless'
  /** Whether the client can show forms. Default `true`. */
  readonly canElicit?: boolean
  /** Where the message is read: in the tool's result, in the JSON-RPC error, or in what the Worker prints. */
  readonly where: 'result' | 'error' | 'console'
}

/** Printed at the start or at the first request, whatever is called. */
export const atStart: readonly Mistake[] = [
  {
    mistake: '`scopes` without `auth`',
    message:
      'edgemcp refuses every call of "salaries": scopes need auth, so pass auth to serve(), such as auth: bearer({ issuer })',
    fix: '',
  },
  {
    mistake: "`server.resource('note://:id', …)`, as routers write variables",
    message: 'edgemcp publishes the URI note://:id as it is: write note://{id} for variables, or %3A for a colon',
    fix: '',
  },
  {
    mistake: 'The `rateLimit` of a tool without `rateLimit()`',
    message:
      'edgemcp ignores the rateLimit of "has_a_limit": add rateLimit() of "edgemcp/rate-limit" to the plugins of serve()',
    fix: '',
  },
  {
    mistake: '`task: true` without `tasks()`',
    message:
      'edgemcp runs "is_a_task" without tasks, so clients wait for the result. Add tasks() of "edgemcp/tasks" to the plugins of serve(), export its class as in',
    fix: 'Add the lines that follow.',
  },
]

/** What JSON has. */
const plain = 'plain objects, arrays, strings, finite numbers, booleans and null'

export const calls: readonly CallMistake[] = [
  {
    mistake: 'Returns a number',
    tool: 'returns_a_number',
    where: 'result',
    message: '42',
    fix: 'Nothing: the number is sent as text. TypeScript accepts it with an `outputSchema` only.',
  },
  {
    mistake: 'Returns a value that does not match `outputSchema`',
    tool: 'returns_another_shape',
    where: 'result',
    message:
      'Tool "returns_another_shape" returned a value that does not match its output schema: count: Invalid input: expected number, received string',
    fix: '',
  },
  {
    mistake: 'Returns nothing, and has an `outputSchema`',
    tool: 'returns_nothing_for_a_schema',
    where: 'result',
    message:
      'Tool "returns_nothing_for_a_schema" returned a value that does not match its output schema: Invalid input: expected object, received undefined',
    fix: '',
  },
  {
    mistake: 'Returns a `Response`',
    tool: 'returns_a_response',
    where: 'result',
    message: `Tool "returns_a_response" returned a value of the class Response, which has no JSON form: use ${plain}`,
    fix: 'Return `await response.text()` or `await response.json()`.',
  },
  {
    mistake: 'Returns a `Map`',
    tool: 'returns_a_map',
    where: 'result',
    message: `Tool "returns_a_map" returned a value of the class Map at counts, which has no JSON form: use ${plain}`,
    fix: 'Return `Object.fromEntries(map)`.',
  },
  {
    mistake: 'Returns a BigInt, as some databases do for ids',
    tool: 'returns_a_bigint',
    where: 'result',
    message: `Tool "returns_a_bigint" returned a bigint at rows[0].id, which has no JSON form: use ${plain}`,
    fix: 'Return `String(id)`.',
  },
  {
    mistake: 'Returns an object with a promise in it',
    tool: 'returns_a_promise',
    where: 'result',
    message: `Tool "returns_a_promise" returned a promise that is not awaited at user, which has no JSON form: use ${plain}`,
    fix: '',
  },
  {
    mistake: 'Returns 40 MB',
    tool: 'returns_40_megabytes',
    of: 'stateless',
    where: 'console',
    message:
      'The tool "returns_40_megabytes" returned 40000000 characters, which is more than models and most clients take: return a part at a time, or a resourceLink() to a resource',
    fix: '',
  },
  {
    mistake: 'Returns more than the limit of results',
    tool: 'returns_40_megabytes',
    of: 'session',
    where: 'result',
    message:
      'The tool "returns_40_megabytes" returned 40000039 bytes of JSON, and this server sends at most 8388608: request less at a time, such as one page, or a link to the data',
    fix: '',
  },
  {
    mistake: 'Throws an error whose message has a secret',
    tool: 'throws_a_secret',
    where: 'console',
    message:
      'The tool "throws_a_secret" threw an error whose message has the value of env.API_KEY, and clients and models get the message: catch it, and throw new Error(\'…\', { cause }) with a message of your own',
    fix: '',
  },
  {
    mistake: '`throw undefined`',
    tool: 'throws_undefined',
    where: 'console',
    message:
      'The tool "throws_undefined" threw undefined, which is not an Error, so clients get "The tool failed" without a reason: throw new Error(\'…\')',
    fix: '',
  },
  {
    mistake: "`throw 'The city is unknown'`",
    tool: 'throws_a_string',
    where: 'console',
    message:
      'The tool "throws_a_string" threw "The city is unknown", which is not an Error, so clients get "The tool failed" without a reason: throw new Error(\'…\')',
    fix: '',
  },
  {
    mistake: 'Uses a binding that wrangler.toml does not declare',
    tool: 'reads_a_missing_binding',
    where: 'console',
    message:
      'The tool "reads_a_missing_binding" failed after it read env.DB, which is undefined: declare it in [[d1_databases]] of wrangler.toml, with binding = "DB"',
    fix: '',
  },
  {
    mistake: 'Requests input in a loop with one key',
    tool: 'asks_in_a_loop',
    where: 'result',
    message: 'The key "sure" is used twice in one call: use each key once',
    fix: "Add the turn to the key: `'sure-' + turn`.",
  },
  {
    mistake: 'Calls `fetch` before an input request',
    tool: 'calls_before_a_question',
    of: 'stateless',
    where: 'console',
    message:
      'The tool "calls_before_a_question" calls fetch(…) before the input request "sure", so it happens again with the answer: write await ctx.once(\'fetch\', async () => (await fetch(…)).json())',
    fix: '',
  },
  {
    mistake: 'Changes a variable of the module before an input request',
    tool: 'counts_before_a_question',
    of: 'stateless',
    where: 'result',
    message: 'attempt 2',
    fix: 'No message: the handler runs again with the answer. Change the variable after the input request, or in `ctx.once`.',
  },
  {
    mistake: 'Forgets `await` before `ctx.elicit`',
    tool: 'forgets_to_await_a_question',
    where: 'error',
    message:
      'The handler calls ctx.elicit("sure", …) and continues without the answer: write await ctx.elicit("sure", …), or await Promise.all([…])',
    fix: '',
  },
  {
    mistake: 'Puts `try` and `catch` around an input request',
    tool: 'catches_a_question',
    where: 'result',
    message: 'done',
    fix: 'Nothing: an input request without an answer does not throw.',
  },
  {
    mistake: 'Builds an input request from `Math.random()` or the time',
    tool: 'asks_by_chance',
    where: 'error',
    message: 'The input request "sure" changed after its answer: build it from arguments, answers and ctx.once only',
    fix: "`await ctx.once('number', () => Math.random())`",
  },
  {
    mistake: 'Builds the key of an input request from something that changes',
    tool: 'makes_a_key_by_chance',
    of: 'stateless',
    where: 'error',
    message: 'Keys must be the same in each round: the handler no longer requests "sure-1", "sure-2", but "sure-3"',
    fix: 'Build keys from arguments and answers only.',
  },
  {
    mistake: 'Requests input inside `ctx.once`',
    tool: 'asks_inside_once',
    where: 'result',
    message: 'The input request "sure" is inside ctx.once: request input before it',
    fix: '',
  },
  {
    mistake: 'Requests an object inside a form',
    tool: 'asks_for_an_object',
    where: 'result',
    message: 'The input request "address" cannot ask for "address": use strings, numbers, booleans or enums of strings',
    fix: 'Request its members, or send two input requests.',
  },
  {
    mistake: 'Requests input from a client that does not support it',
    tool: 'asks',
    canElicit: false,
    of: 'stateless',
    where: 'error',
    message: 'This call needs a client that supports elicitation',
    fix: "`if (!ctx.supports('elicitation')) return '…'`",
  },
  {
    mistake: 'Uses a key of `ctx.once` twice',
    tool: 'uses_a_once_key_twice',
    where: 'result',
    message: 'The key "charge" is used twice in one call: use each key once',
    fix: '',
  },
  {
    mistake: 'Takes what `ctx.once` returns for a `Date`',
    tool: 'keeps_a_date_in_once',
    where: 'console',
    message:
      'The tool "keeps_a_date_in_once" failed after a Date of ctx.once("since", …), which each round gets as a text: write new Date(await ctx.once("since", …))',
    fix: '',
  },
  {
    mistake: 'Uses the state of a user, and no user is signed in',
    tool: 'uses_the_state_of_a_user',
    where: 'error',
    message:
      'The state "of-user" is not available: the caller is anonymous: give serve() an auth, or use per: "handle"',
    fix: '',
  },
  {
    mistake: 'Uses the state of a session, and the client has no session',
    tool: 'uses_the_state_of_a_session',
    of: 'stateless',
    where: 'error',
    message:
      'The state "of-session" is not available: this client has no session: use per: "user", or per: "handle" and pass the handle around',
    fix: '',
  },
  {
    mistake: 'An `async` operation of a state',
    tool: 'waits_in_an_operation',
    where: 'result',
    message:
      'The operation "add" of the state "waiting" returned a promise, and a transaction cannot wait: await before you call it',
    fix: 'Fetch first, then call the operation with the result.',
  },
  {
    mistake: '`note.updated()` without `subscriptions()`',
    tool: 'notifies_without_subscriptions',
    where: 'result',
    message:
      'Change notifications are disabled: add subscriptions() of "edgemcp/subscriptions" to the plugins of serve()',
    fix: '',
  },
  {
    mistake: 'Forgets `await` before `note.updated()`',
    tool: 'forgets_to_await_a_notification',
    where: 'console',
    message:
      'Error: Change notifications are disabled: add subscriptions() of "edgemcp/subscriptions" to the plugins of serve()',
    fix: 'With `subscriptions()`, the change is delivered without `await`, too.',
  },
  {
    mistake: 'Sleeps for an hour in a tool that is not a task',
    tool: 'sleeps_for_an_hour',
    where: 'console',
    message:
      'The tool "sleeps_for_an_hour" sleeps for 3600 seconds and is not a task, so its client waits on an open request: declare the tool with task: true, and add tasks() of "edgemcp/tasks" to the plugins of serve()',
    fix: '',
  },
  {
    mistake: 'Calls `ctx.log` after the handler has returned',
    of: 'session',
    tool: 'logs_too_late',
    where: 'console',
    message:
      'The tool "logs_too_late" called ctx.log after it had returned, so no client receives the message: await the work before you return, or call server.notify.log()',
    fix: '',
  },
  {
    mistake: 'Awaits a promise that never settles',
    tool: 'never_resolves',
    where: 'console',
    message:
      'The tool "never_resolves" has been running for 10 seconds: check that each promise it awaits settles. rateLimit({ time }) of "edgemcp/rate-limit" ends handlers after a time; a tool that takes long is a task, of "edgemcp/tasks"',
    fix: '',
  },
  {
    mistake: 'Calls a tool with invalid arguments',
    tool: 'takes_a_city',
    where: 'result',
    message: 'Invalid arguments for takes_a_city: city: Invalid input: expected string, received undefined',
    fix: '',
  },
  {
    mistake: 'Calls a tool that is not there',
    tool: 'takes_a_town',
    where: 'error',
    message: 'Unknown tool: takes_a_town',
    fix: '',
  },
]
