/**
 * Answers that are none, states that belong elsewhere, capabilities that were not declared, listeners for anything.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions
 */
import {
  answered,
  declaring,
  type Params,
  type Row,
  refused,
  row,
  type Sendable,
  said,
  stateless,
} from './hostile-row.ts'

const invalid = refused(200, -32602, 1)

/** A call of a tool that asks, by a client that declares what it can be asked. */
const asking = (name: string, capabilities: Params, more: Params = {}) =>
  stateless('tools/call', { name, ...more, _meta: declaring(capabilities) })
const askName = (more: Params) => asking('ask_name', { elicitation: {} }, more)

const named = { name: { action: 'accept', content: { name: 'Ada' } } }
const greeted = said(1, 'Hello, Ada!')
const asksAgain = answered(1, {
  resultType: 'input_required',
  inputRequests: { name: { method: 'elicitation/create' } },
})

/** The answered call again, with what becomes of its state, and perhaps as another call. */
const bringing =
  (change: (state: string) => unknown, more: Params = {}): Sendable =>
  async (stage) =>
    askName({ requestState: change(await stage.requestState()), inputResponses: named, ...more })

const listening = (notifications: unknown) => stateless('subscriptions/listen', { notifications })
const begun = (text: string) => text.includes('\n\n')
const acknowledged = (notifications: Params) => ({
  status: 200,
  messages: [
    {
      method: 'notifications/subscriptions/acknowledged',
      params: { notifications, _meta: { 'io.modelcontextprotocol/subscriptionId': 1 } },
    },
  ],
})

const json = JSON.stringify

export const rounds: Row[] = [
  // Answers
  row('input responses without a state are accepted', askName({ inputResponses: named }), greeted),
  row(
    'surplus input responses are ignored',
    askName({ inputResponses: { ...named, other: 1, constructor: [] } }),
    greeted,
  ),
  row('an empty object of input responses is ignored', askName({ inputResponses: {} }), asksAgain),
  row('a response to another input request is ignored', askName({ inputResponses: { other: named.name } }), asksAgain),
  ...[null, [], 'text', 1, true].map((inputResponses) =>
    row(`the inputResponses ${json(inputResponses)} are refused`, askName({ inputResponses }), invalid),
  ),
  ...[
    null,
    12345,
    'Ada',
    [],
    {},
    { action: 'yes' },
    { action: 'ACCEPT', content: { name: 'Ada' } },
    { action: ['accept'], content: { name: 'Ada' } },
    { action: 'accept' },
    { action: 'accept', content: null },
    { action: 'accept', content: 'Ada' },
    { action: 'accept', content: [] },
    { action: 'accept', content: { name: 1 } },
    { action: 'accept', content: { name: '' } },
  ].map((answer) =>
    row(`the answer ${json(answer)} is invalid`, askName({ inputResponses: { name: answer } }), invalid),
  ),
  ...[null, {}, { roots: null }, { roots: {} }, { roots: [null] }, { roots: [{}] }].map((roots) =>
    row(
      `the roots ${json(roots)} are invalid`,
      asking('ask_roots', { roots: {} }, { inputResponses: { roots } }),
      invalid,
    ),
  ),
  ...[
    {},
    { role: 'assistant', model: 'm' },
    { role: 'assistant', model: 'm', content: 'text' },
    { role: 'assistant', model: 'm', content: [null] },
    { role: 'assistant', model: 'm', content: { type: 'text', text: { toString: 1 } } },
  ].map((capital) =>
    row(
      `the sample ${json(capital)} is invalid`,
      asking('ask_model', { sampling: {} }, { inputResponses: { capital } }),
      invalid,
    ),
  ),

  // States
  row(
    'a state that comes back unchanged is accepted',
    bringing((state) => state),
    greeted,
  ),
  ...[null, 1, {}, [], true, '', 'garbage', 'table.AAAA'].map((state) =>
    row(
      `the requestState ${json(state)} is refused`,
      bringing(() => state),
      invalid,
    ),
  ),
  row(
    'a state with something after it is refused',
    bringing((state) => `${state}-TAMPERED`),
    invalid,
  ),
  row(
    'a state without its end is refused',
    bringing((state) => state.slice(0, -4)),
    invalid,
  ),
  row(
    'a state for another tool is refused',
    bringing((state) => state, { name: 'ask_twice' }),
    invalid,
  ),
  row(
    'a state for other arguments is refused',
    bringing((state) => state, { arguments: { a: 1 } }),
    invalid,
  ),
  row(
    'a state of a tool is refused by a prompt',
    async (stage) =>
      stateless('prompts/get', {
        name: 'ask',
        requestState: await stage.requestState(),
        _meta: declaring({ elicitation: {} }),
      }),
    invalid,
  ),
  row(
    'a state of another server is refused',
    async (stage) =>
      askName({ requestState: await stage.foreignSeals.seal('journal:tools/call', undefined, {}, 60_000) }),
    invalid,
  ),
  row(
    'a request state is ignored by a list',
    stateless('tools/list', { requestState: 'garbage', inputResponses: null }),
    answered(1),
  ),

  // Capabilities
  row(
    'a client without capabilities gets no input request',
    asking('ask_name', {}),
    refused(400, -32021, 1, { data: { requiredCapabilities: { elicitation: {} } } }),
  ),
  ...[null, false, 0, 'yes', []].flatMap((declared) => [
    row(
      `elicitation declared as ${json(declared)} is not declared`,
      asking('ask_name', { elicitation: declared }),
      refused(400, -32021, 1),
    ),
    row(
      `sampling declared as ${json(declared)} is not declared`,
      asking('ask_model', { sampling: declared }),
      refused(400, -32021, 1),
    ),
    row(
      `roots declared as ${json(declared)} are not declared`,
      asking('ask_roots', { roots: declared }),
      refused(400, -32021, 1),
    ),
  ]),
  row(
    'a client that supports URL elicitation only gets no form',
    asking('ask_name', { elicitation: { url: {} } }),
    refused(400, -32021, 1),
  ),

  // Listeners
  ...[
    undefined,
    null,
    [],
    'tools',
    true,
    { toolsListChanged: 'yes' },
    { promptsListChanged: 1 },
    { resourcesListChanged: null },
    { resourceSubscriptions: 'note://1' },
    { resourceSubscriptions: [1] },
    { resourceSubscriptions: {} },
  ].map((filter) => row(`listening to ${json(filter)} is refused`, listening(filter), invalid)),
  row('an empty subscription filter is acknowledged', { ...listening({}), until: begun }, acknowledged({})),
  row(
    'a subscription filter is acknowledged without unknown resources and invalid URIs',
    {
      ...listening({
        constructor: true,
        toolsListChanged: true,
        promptsListChanged: false,
        resourceSubscriptions: ['note://1', 'no uri', 'note://a/b', '', 'note://%2e%2e/1', '\ud800'],
      }),
      until: begun,
    },
    acknowledged({ toolsListChanged: true, resourceSubscriptions: ['note://1'] }),
  ),
  row(
    'listening to more than a stream can hold is refused',
    listening({ resourceSubscriptions: Array.from({ length: 2_000 }, (_, id) => `note://${id}`) }),
    refused(400, -32602, 1),
  ),
]
