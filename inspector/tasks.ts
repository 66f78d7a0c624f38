/**
 * Shows a task: polls it, or subscribes to its status, until it ends. Its status has its input requests. A task of 2025-11-25 sends its
 * input requests and its result on the stream of tasks/result.
 */
import type { InputRequest, Params } from '../worker/protocol/types.ts'
import type { TestClient } from '../worker/testing/index.ts'
import { errorOf, type Reading, resultOf } from './content.ts'
import { button, fill, make, newId } from './element.ts'
import type { Questions } from './questions.ts'
import type { Subscriptions } from './subscriptions.ts'

export const tasksExtension = 'io.modelcontextprotocol/tasks'

export interface TaskCard {
  readonly element: HTMLElement
  readonly taskId: string
  /** Updates the card with a status of the server. */
  update(task: Params): void
  /** Ends polling when the connection closes. */
  close(): void
}

type TaskPanels = { questions: Questions; subscriptions: Subscriptions | undefined; read: Reading }

const isOver = (status: unknown): boolean => ['completed', 'failed', 'cancelled'].includes(String(status))

/** Returns the task in the result of a call, if it has one. */
export function taskIn(result: Params): { task: Params; isExperimental: boolean } | undefined {
  if (result.resultType === 'task') return { task: result, isExperimental: false }
  const { taskId } = Object(result.task) as { taskId?: unknown }
  return typeof taskId === 'string' ? { task: result.task as Params, isExperimental: true } : undefined
}

/** @param isExperimental whether it is a task of 2025-11-25 */
export function taskCard(
  client: TestClient,
  title: string,
  created: Params,
  isExperimental: boolean,
  panels: TaskPanels,
): TaskCard {
  const { questions, read } = panels
  // The server announces a task of 2025-11-25 without a subscription.
  const listening = isExperimental ? undefined : panels.subscriptions
  const taskId = String(created.taskId)
  const left = new AbortController()
  const askedTasks = new Set<string>()
  let timer: ReturnType<typeof setTimeout> | undefined
  let isLeft = false

  const status = make('span', { class: 'status', role: 'status' })
  const words = make('p', { class: 'hint' })
  const answer = make('div', { class: 'answer' })
  const mode = make(
    'select',
    { id: newId(), onchange: switchMode },
    make('option', { value: 'poll' }, 'poll'),
    listening && make('option', { value: 'listen' }, 'subscribe'),
    make('option', { value: 'wait' }, 'only when I check'),
  )
  const controls = make(
    'div',
    { class: 'bar' },
    make('label', { for: mode.id }, 'Follow by'),
    mode,
    button('Check now', look),
    button('Cancel task', cancel),
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
  if (isExperimental) void wait()
  return { element, taskId, update: update, close }

  function update(task: Params): void {
    if (isLeft) return
    status.textContent = String(task.status)
    element.dataset.state = String(task.status)
    words.textContent = String(task.statusMessage ?? '')
    const requests = Object.entries((task.inputRequests ?? {}) as Record<string, InputRequest>)
    for (const [key, request] of requests) if (!askedTasks.has(key)) void ask(key, request)
    clearTimeout(timer)
    const pause = Number(task.pollIntervalMs ?? task.pollInterval ?? 1000)
    if (!isOver(task.status)) {
      if (mode.value === 'poll') timer = setTimeout(look, pause)
    } else if (isExperimental && task.status !== 'cancelled') controls.remove()
    else end(task)
  }

  function end(task: Params): void {
    close()
    controls.remove()
    void listening?.unfollow(taskId).catch(() => {})
    const { result, error } = task as { result?: Params; error?: { message: string } }
    fill(answer, result ? resultOf(result, read) : error ? make('p', { class: 'bad' }, error.message) : undefined)
  }

  /** Input requests arrive while this request waits. */
  async function wait(): Promise<void> {
    try {
      const result = await client.request('tasks/result', { taskId }, { signal: left.signal })
      await look()
      fill(answer, resultOf(result, read))
    } catch (problem) {
      if (isLeft) return
      await look()
      if (!isLeft) fill(answer, errorOf(problem))
    }
  }

  function close(): void {
    isLeft = true
    left.abort()
    clearTimeout(timer)
    for (const key of askedTasks) questions.cancel(`${taskId} ${key}`)
    questions.cancelTask(taskId)
  }

  async function look(): Promise<void> {
    clearTimeout(timer)
    await attempt(async () => update(await client.request('tasks/get', { taskId })))
  }

  async function ask(key: string, request: InputRequest): Promise<void> {
    askedTasks.add(key)
    const response = await questions.ask(request, `${taskId} ${key}`).catch(() => undefined)
    if (!response || isLeft) return
    await attempt(async () => {
      await client.request('tasks/update', { taskId, inputResponses: { [key]: response } })
      // A handler may use the key again.
      askedTasks.delete(key)
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
