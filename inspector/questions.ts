/** Shows input requests of the server, and returns the input responses of the developer. */
import type { InputRequest, JsonSchema, Params } from '../worker/protocol/types.ts'
import { button, type Child, make, newId } from './element.ts'
import { type Form, form } from './form.ts'
import { tree } from './json.ts'

export interface Questions {
  readonly element: HTMLElement
  /** Shows an input request. @returns the response; rejects when the developer rejects the request or it is cancelled */
  ask(request: InputRequest, key: string): Promise<Params>
  /** Cancels an input request. */
  cancel(key: string): void
  /** Cancels all input requests of a task of 2025-11-25. */
  cancelTask(taskId: string): void
  cancelAll(): void
}

/** @see https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks#related-task-metadata */
const taskOf = (params: Params | undefined): unknown =>
  Object(Object(params?._meta)['io.modelcontextprotocol/related-task']).taskId

export function questions(changed: (open: number) => void): Questions {
  const element = make('div', { class: 'questions', 'aria-live': 'polite' })
  const open = new Map<string, { card: HTMLElement; taskId: unknown; reject(reason: Error): void }>()
  let lastRoots = 'file:///workspace'
  return { element, ask, cancel, cancelTask, cancelAll: () => [...open.keys()].forEach(cancel) }

  function ask(request: InputRequest, key: string): Promise<Params> {
    const { promise, resolve, reject } = Promise.withResolvers<Params>()
    const headingId = newId()
    const { heading, body, accept } = draw(request, resolve, reject)
    const onsubmit = (event: Event) => {
      event.preventDefault()
      accept()
    }
    const card = make(
      'form',
      { class: 'card question', 'aria-labelledby': headingId, onsubmit },
      make('h3', { id: headingId }, heading),
      body,
    )
    element.append(card)
    open.set(key, { card, taskId: taskOf(request.params), reject })
    changed(open.size)
    // Does not take the focus from a field that the developer fills in.
    if (!document.activeElement?.matches('input,textarea,select')) {
      card.querySelector<HTMLElement>('input,textarea,select,button')?.focus()
    }
    return promise.finally(() => close(key, card))
  }

  function close(key: string, card: HTMLElement): void {
    const hadFocus = card.contains(document.activeElement)
    card.remove()
    if (open.get(key)?.card === card) open.delete(key)
    changed(open.size)
    if (hadFocus) document.querySelector<HTMLElement>('.question input, .question button, .run')?.focus()
  }

  function cancel(key: string): void {
    open.get(key)?.reject(new Error('The server cancelled the input request'))
  }

  function cancelTask(taskId: string): void {
    for (const [key, question] of [...open]) if (question.taskId === taskId) cancel(key)
  }

  type Answering = (answer: Params) => void
  /** `accept`: the action of the Enter key. */
  type Drawn = { heading: string; body: Child; accept: () => void }

  function draw(request: InputRequest, resolve: Answering, reject: (reason: Error) => void): Drawn {
    const refuse = button('Reject', () => reject(new Error('The user rejected the request')))
    if (request.method === 'roots/list') return roots(resolve, refuse)
    if (request.method === 'sampling/createMessage') return sampling(request.params, resolve, refuse)
    return request.params.mode === 'url' ? visit(request.params, resolve) : elicitation(request.params, resolve)
  }

  function elicitation({ message, requestedSchema }: Params, resolve: Answering): Drawn {
    const fields = form(Object(requestedSchema) as JsonSchema)
    const accept = () => {
      const content = fields.read()
      if (content) resolve({ action: 'accept', content })
    }
    return {
      accept,
      heading: 'Input requested',
      body: [make('p', {}, String(message)), fields.element, answers('Accept', resolve, fields)],
    }
  }

  function visit({ message, url }: Params, resolve: Answering): Drawn {
    const target = URL.parse(String(url))
    const isPage = target?.protocol === 'https:' || target?.protocol === 'http:'
    return {
      accept: () => resolve({ action: 'accept' }),
      heading: 'The server asks you to open a page',
      body: [
        make('p', {}, String(message)),
        make(
          'p',
          { class: 'address' },
          isPage ? ['The page is at ', make('b', {}, target.host), ': '] : 'Not a web page: ',
          make('code', {}, String(url)),
        ),
        isPage &&
          make(
            'p',
            {},
            make(
              'a',
              { href: target.href, target: '_blank', rel: 'noopener noreferrer' },
              'Open the page in a new tab',
            ),
          ),
        answers('I agree', resolve),
      ],
    }
  }

  function sampling(params: Params, resolve: Answering, refuse: HTMLElement): Drawn {
    const { messages, systemPrompt, maxTokens, ...others } = params
    const answerIn = form(sampled, { values: { text: '', model: 'a person', stopReason: 'endTurn' }, isText: false })
    const accept = () => {
      const read = answerIn.read()
      if (!read) return
      const { text = '', content = { type: 'text', text }, ...answer } = read
      resolve({ role: 'assistant', content, ...answer })
    }
    return {
      accept,
      heading: 'The server requests a sampling response',
      body: [
        systemPrompt !== undefined && make('p', { class: 'hint' }, `System: ${systemPrompt}`),
        (Array.isArray(messages) ? messages : []).map(messageOf),
        make('p', { class: 'hint' }, `At most ${maxTokens} tokens`),
        Object.keys(others).length > 0 && tree(others, 'More', 0),
        answerIn.element,
        make('div', { class: 'bar' }, submit('Answer'), refuse, answerIn.toggle),
      ],
    }
  }

  function roots(resolve: Answering, refuse: HTMLElement): Drawn {
    const input = make('textarea', { rows: 3, id: newId(), spellcheck: 'false', class: 'code' }, lastRoots)
    const accept = () => {
      lastRoots = input.value
      const uris = input.value.split('\n').filter((line) => line.trim() !== '')
      resolve({ roots: uris.map((uri) => ({ uri: uri.trim() })) })
    }
    const label = make('label', { for: input.id }, 'Roots, one URI per line')
    return {
      accept,
      heading: 'The server requests the roots',
      body: [make('div', { class: 'field' }, label, input), make('div', { class: 'bar' }, submit('Answer'), refuse)],
    }
  }
}

const answers = (accept: string, resolve: (answer: Params) => void, fields?: Form) =>
  make(
    'div',
    { class: 'bar' },
    submit(accept),
    button('Decline', () => resolve({ action: 'decline' })),
    button('Cancel', () => resolve({ action: 'cancel' })),
    fields?.toggle,
  )

const submit = (label: string): HTMLElement => make('button', { class: 'primary' }, label)

/** The members of a sampling result. As JSON it may have `content` with tool calls instead of `text`. */
const sampled: JsonSchema = {
  type: 'object',
  properties: {
    text: { type: 'string', title: 'Answer', maxLength: 100_000 },
    model: { type: 'string', title: 'Model' },
    stopReason: { title: 'Stop reason', enum: ['endTurn', 'stopSequence', 'maxTokens', 'toolUse'] },
  },
  required: ['text', 'model'],
}

const messageOf = ({ role, content }: { role: string; content: unknown }) =>
  make(
    'div',
    {},
    make('h4', {}, role),
    [content]
      .flat()
      .map((block) => (Object(block).type === 'text' ? make('pre', {}, Object(block).text) : tree(block))),
  )
