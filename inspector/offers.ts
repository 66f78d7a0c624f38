/** Lists what the server offers, with a form to use each entry. */

import type { Params, PromptItem, ResourceItem, ResourceTemplateItem, ToolItem } from '../worker/protocol/types.ts'
import { uriTemplate } from '../worker/protocol/uri-template.ts'
import { button, type Child, fill, make, newId } from './element.ts'
import type { EventItem, EventsPanel } from './events.ts'
import { type Complete, type Entered, type Form, form } from './form.ts'
import { tree } from './json.ts'
import { save, saved } from './saved.ts'

export type Offered = {
  readonly tools: readonly ToolItem[]
  readonly prompts: readonly PromptItem[]
  readonly resources: readonly ResourceItem[]
  readonly templates: readonly ResourceTemplateItem[]
  readonly events: readonly EventItem[]
}

export type Actions = {
  call(title: string, method: string, params: Params): void
  complete(ref: Params): Complete
  canSubscribe(): boolean
  isSubscribed(uri: string): boolean
  /** Subscribes, or unsubscribes. */
  subscribe(uri: string): Promise<void>
  /** Continues where the last poll of this event with these arguments ended. */
  poll(name: string, args: Params): void
  /** `undefined`: this page has no callback URL. */
  readonly subscribeToEvent: EventsPanel['subscribe'] | undefined
}

type Kind = keyof Offered
const kinds: readonly [Kind, string][] = [
  ['tools', 'Tools'],
  ['prompts', 'Prompts'],
  ['resources', 'Resources'],
  ['templates', 'Resource templates'],
  ['events', 'Events'],
]

export interface Offers {
  /** The list of entries. */
  readonly element: HTMLElement
  /** The form of the chosen entry. */
  readonly chosen: HTMLElement
  show(offered: Offered, actions: Actions): void
}

export function offers(): Offers {
  const list = make('div')
  const filter = make('input', {
    type: 'search',
    placeholder: 'Filter',
    'aria-label': 'Filter tools, prompts and resources',
    oninput: sift,
  })
  const element = make('nav', { class: 'offers', 'aria-label': 'Tools, prompts and resources' }, filter, list)
  const chosen = make('section', { class: 'chosen', 'aria-label': 'Selected' })
  let choice = saved(choiceName) as { kind: Kind; id: string; written: string } | undefined
  let fields: Form | undefined
  // Buttons of the form change the list fields.
  for (const type of ['input', 'click']) chosen.addEventListener(type, saveForm)
  return { element, chosen, show }

  function saveForm(): void {
    const entered = choice && fields?.entered()
    if (choice && entered) save(formName(choice.kind, choice.id), entered)
  }

  function show(offered: Offered, actions: Actions): void {
    const shown = kinds.filter(([kind]) => offered[kind].length > 0)
    fill(
      list,
      shown.map(([kind, heading]) => [
        make('h2', {}, `${heading} `, make('small', {}, offered[kind].length)),
        make(
          'ul',
          {},
          offered[kind].map((item) =>
            make(
              'li',
              {},
              button(idOf(item), () => choose(kind, item, actions, true), {
                title: item.title ?? item.description,
                'data-id': idOf(item),
                'data-kind': kind,
              }),
            ),
          ),
        ),
      ]),
    )
    if (shown.length === 0)
      fill(list, make('p', { class: 'hint' }, 'The server lists no tools, prompts or resources for this caller.'))
    sift()
    // Keeps the form that is being filled in, unless the entry has changed.
    const again = choice && (offered[choice.kind] as readonly Item[]).find((item) => idOf(item) === choice?.id)
    const [first] = shown
    if (choice && again) {
      if (JSON.stringify(again) === choice.written && chosen.hasChildNodes()) mark()
      else choose(choice.kind, again, actions)
    } else if (first) choose(first[0], offered[first[0]][0] as Item, actions)
    else fill(chosen)
  }

  function choose(kind: Kind, item: Item, actions: Actions, isWanted = false): void {
    const written = JSON.stringify(item)
    const isSame = choice?.kind === kind && choice.id === idOf(item) && choice.written === written
    // Keeps the input.
    if (isSame && isWanted) return chosen.querySelector('h2')?.focus()
    choice = { kind, id: idOf(item), written }
    save(choiceName, choice)
    const work = workOf(kind, item, actions, saved(formName(kind, choice.id)) as Entered | undefined)
    fields = work.fields
    const heading = make('h2', { tabIndex: -1, tabindex: -1 }, item.title ?? idOf(item))
    fill(
      chosen,
      heading,
      item.title !== undefined && make('p', {}, make('code', {}, idOf(item))),
      item.description !== undefined && make('p', { class: 'description' }, item.description),
      work.children,
      tree(item, 'List entry as JSON', 0),
    )
    mark()
    if (!isWanted) return
    heading.focus({ preventScroll: true })
    // On a small screen, the form is below the list.
    if (chosen.getBoundingClientRect().top > innerHeight / 2) chosen.scrollIntoView()
  }

  function mark(): void {
    for (const entry of list.querySelectorAll('button')) {
      const isChosen = entry.dataset.kind === choice?.kind && entry.dataset.id === choice?.id
      if (isChosen) entry.setAttribute('aria-current', 'true')
      else entry.removeAttribute('aria-current')
    }
  }

  function sift(): void {
    for (const entry of list.querySelectorAll('li')) {
      entry.hidden = !entry.textContent?.toLowerCase().includes(filter.value.toLowerCase())
    }
  }
}

type Item = ToolItem | PromptItem | ResourceItem | ResourceTemplateItem | EventItem

const idOf = (item: Item): string => ('uri' in item ? item.uri : 'uriTemplate' in item ? item.uriTemplate : item.name)

const choiceName = 'choice'
const formName = (kind: Kind, id: string): string => `form of ${kind} ${id}`

type Work = { readonly children: Child; readonly fields?: Form }

/** @param earlier what was entered for this entry before */
function workOf(kind: Kind, item: Item, actions: Actions, earlier: Entered | undefined): Work {
  if (kind === 'tools') return toolOf(item as ToolItem, actions, earlier)
  if (kind === 'prompts') return promptOf(item as PromptItem, actions, earlier)
  if (kind === 'resources') return { children: resourceOf(item as ResourceItem, actions) }
  if (kind === 'events') return eventOf(item as EventItem, actions, earlier)
  return templateOf(item as ResourceTemplateItem, actions, earlier)
}

function toolOf(tool: ToolItem, { call }: Actions, earlier: Entered | undefined): Work {
  const { name, inputSchema, annotations = {} } = tool
  const hints = Object.entries(annotations).filter(([hint, isTrue]) => hint.endsWith('Hint') && isTrue)
  const words = hints.map(([hint]) =>
    hint.replace('Hint', '').replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`),
  )
  const asTask = taskBox(tool)
  const fields = form(inputSchema, earlier)
  const children = [
    words.length > 0 && make('p', { class: 'hint' }, words.join(' · ')),
    sheet(
      fields,
      'Call',
      (args) => call(name, 'tools/call', { name, arguments: args, ...(asTask?.checked && { task: {} }) }),
      asTask && make('span', { class: 'check' }, asTask, make('label', { for: asTask.id }, 'As a task')),
    ),
  ]
  return { children, fields }
}

/** The checkbox of tools that support tasks of 2025-11-25, where the client declares the choice. */
function taskBox(tool: ToolItem): HTMLInputElement | undefined {
  const { taskSupport } = Object((tool as { execution?: object }).execution) as { taskSupport?: string }
  if (taskSupport !== 'optional' && taskSupport !== 'required') return undefined
  return make('input', { type: 'checkbox', id: newId(), checked: true, disabled: taskSupport === 'required' })
}

function promptOf(
  { name, arguments: args = [] }: PromptItem,
  { call, complete }: Actions,
  earlier: Entered | undefined,
): Work {
  const fields = form(textsOf(args), earlier, complete({ type: 'ref/prompt', name }))
  return { children: sheet(fields, 'Get', (values) => call(name, 'prompts/get', { name, arguments: values })), fields }
}

function resourceOf({ uri }: ResourceItem, actions: Actions): Child {
  return sheet(
    { element: make('div'), toggle: make('span'), read: () => ({}) },
    'Read',
    () => actions.call(uri, 'resources/read', { uri }),
    subscribing(() => uri, actions),
  )
}

function templateOf({ uriTemplate: text }: ResourceTemplateItem, actions: Actions, earlier: Entered | undefined): Work {
  const template = uriTemplate(text)
  const fields = form(
    textsOf(template.names.map((name) => ({ name }))),
    earlier,
    actions.complete({ type: 'ref/resource', uri: text }),
  )
  const uri = () => template.expand((fields.read() ?? {}) as Record<string, string>)
  const read = () => actions.call(uri(), 'resources/read', { uri: uri() })
  return { children: sheet(fields, 'Read', read, subscribing(uri, actions)), fields }
}

function eventOf({ name, inputSchema, delivery }: EventItem, actions: Actions, earlier: Entered | undefined): Work {
  const { poll, subscribeToEvent } = actions
  const fields = form(inputSchema, earlier)
  const subscribe = () => {
    const args = fields.read()
    if (args) return subscribeToEvent?.(name, args)
  }
  const whyNot = !subscribeToEvent
    ? 'To subscribe, use the inspector in development, with its key: a callback URL must be public, and this page has none.'
    : !delivery.includes('webhook') &&
      'Only an authenticated caller subscribes: connect with a token or as a test user.'
  const children = [
    make('p', { class: 'hint' }, 'The first poll begins now, and the next one where the last one ended.'),
    whyNot && make('p', { class: 'hint' }, whyNot),
    sheet(fields, 'Poll', (args) => poll(name, args), !whyNot && button('Subscribe', subscribe)),
  ]
  return { children, fields }
}

/** A form with its buttons. */
function sheet(
  fields: Omit<Form, 'entered'>,
  label: string,
  run: (values: Params) => void,
  ...others: Child[]
): HTMLElement {
  const onsubmit = (event: Event) => {
    event.preventDefault()
    const values = fields.read()
    if (values) run(values)
  }
  const buttons = make('div', { class: 'bar' }, make('button', { class: 'primary run' }, label), others, fields.toggle)
  return make('form', { onsubmit, noValidate: true, 'aria-label': label }, fields.element, buttons)
}

function subscribing(uri: () => string, { canSubscribe, isSubscribed, subscribe }: Actions): Child {
  if (!canSubscribe()) return undefined
  const status = make('span', { role: 'status', id: newId() })
  const toggle = button('Subscribe', toggleSubscription)
  const showState = () => (toggle.textContent = isSubscribed(uri()) ? 'Unsubscribe' : 'Subscribe')
  try {
    showState()
  } catch {
    // The variables of the template are still empty.
  }
  return [toggle, status]

  async function toggleSubscription(): Promise<void> {
    try {
      await subscribe(uri())
      status.textContent = isSubscribed(uri()) ? `Subscribed to ${uri()}` : ''
      showState()
    } catch (problem) {
      status.textContent = (problem as Error).message
    }
  }
}

const textsOf = (args: readonly { name: string; title?: string; description?: string; required?: boolean }[]) => ({
  type: 'object',
  properties: Object.fromEntries(
    args.map(({ name, title, description }) => [
      name,
      { type: 'string', ...(title && { title }), ...(description && { description }) },
    ]),
  ),
  required: args.filter(({ required }) => required).map(({ name }) => name),
})
