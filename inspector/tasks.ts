/** A task of the extension: looked at again and again, or listened to, until it is over. */
import type { InputRequest, Params } from '../worker/protocol/types.ts'
import type { TestClient } from '../worker/testing/index.ts'
import { errorOf, type Reading, resultOf } from './content.ts'
import { button, fill, make, newId } from './element.ts'
import type { Listening } from './listening.ts'
import type { Questions } from './questions.ts'

export const tasksExtension = 'io.modelcontextprotocol/tasks'

export interface TaskCard {
  readonly element: HTMLElement
  readonly taskId: string
  /** The server told how it is. */
  told(task: Params): void
  /** The connection has gone. */
  leave(): void
}

type Beside = { questions: Questions; listening: Listening | undefined; read: Reading }

const isOver = (status: unknown): boolean => ['completed', 'failed', 'cancelled'].includes(String(status))

/** @param created what a call was answered with instead of its result */
export function taskCard(client: TestClient, title: string, created: Params, beside: Beside): TaskCard {
  const { questions, listening, read } = beside
  const taskId = String(created.taskId)
  const asked = new Set<string>()
  let timer: ReturnType<typeof setTimeout> | undefined
  let isLeft = false

  const status = make('span', { class: 'status', role: 'status' })
  const words = make('p', { class: 'hint' })
  const answer = make('div', { class: 'answer' })
  const mode = make(
    'select',
    { id: newId(), onchange: switchMode },
    make('option', { value: 'poll' }, 'look again and again'),
    listening && make('option', { value: 'listen' }, 'listen'),
    make('option', { value: 'wait' }, 'look when asked to'),
  )
  const controls = make(
    'div',
    { class: 'bar' },
    make('label', { for: mode.id }, 'How to follow it'),
    mode,
    button('Look now', look),
    button('Cancel the task', cancel),
  )
  const element = make(
    'article',
    { class: 'card task', 'aria-label': `Task ${title}` },
    make('div', { class: 'bar' }, make('h3', {}, `Task: ${title}`), status),
    make('p', { class: 'hint' }, make('code', {}, `${taskId.slice(0, 24)}…`)),
    words,
    controls,
    answer,
  )
  update(created)
  return { element, taskId, told: update, leave }

  function update(task: Params): void {
    if (isLeft) return
    status.textContent = String(task.status)
    element.dataset.state = String(task.status)
    words.textContent = String(task.statusMessage ?? '')
    const requests = Object.entries((task.inputRequests ?? {}) as Record<string, InputRequest>)
    for (const [key, request] of requests) if (!asked.has(key)) void ask(key, request)
    clearTimeout(timer)
    if (isOver(task.status)) end(task)
    else if (mode.value === 'poll') timer = setTimeout(look, Number(task.pollIntervalMs ?? 1000))
  }

  function end(task: Params): void {
    leave()
    controls.remove()
    void listening?.unfollow(taskId).catch(() => {})
    const { result, error } = task as { result?: Params; error?: { message: string } }
    fill(answer, result ? resultOf(result, read) : error ? make('p', { class: 'bad' }, error.message) : undefined)
  }

  function leave(): void {
    isLeft = true
    clearTimeout(timer)
    for (const key of asked) questions.withdraw(`${taskId} ${key}`)
  }

  async function look(): Promise<void> {
    clearTimeout(timer)
    await attempt(async () => update(await client.request('tasks/get', { taskId })))
  }

  async function ask(key: string, request: InputRequest): Promise<void> {
    asked.add(key)
    const response = await questions.ask(request, `${taskId} ${key}`).catch(() => undefined)
    if (!response || isLeft) return
    await attempt(async () => {
      await client.request('tasks/update', { taskId, inputResponses: { [key]: response } })
      // A handler may ask under the same name again.
      asked.delete(key)
      if (mode.value !== 'listen') await look()
    })
  }

  async function cancel(): Promise<void> {
    await attempt(async () => {
      await client.request('tasks/cancel', { taskId })
      await look()
    })
  }

  async function switchMode(): Promise<void> {
    await attempt(async () => {
      if (mode.value === 'listen') await listening?.follow(taskId)
      else await listening?.unfollow(taskId)
      await look()
    })
  }

  async function attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (problem) {
      if (!isLeft) fill(answer, errorOf(problem))
    }
  }
}
