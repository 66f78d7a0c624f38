/** Running calls, and the outcomes of ended calls. */
import type { Params } from '../worker/protocol/types.ts'
import type { TestClient } from '../worker/testing/index.ts'
import { errorOf, type Reading, resultOf } from './content.ts'
import { button, type Child, fill, make } from './element.ts'

/** Older calls are removed. */
const mostShown = 50

export type Called = { title: string; method: string; params: Params }

export interface Calls {
  readonly element: HTMLElement
  /** Makes a call and shows its progress and outcome. Resolves when it ends; with `undefined` if it fails. */
  run(client: TestClient, called: Called): Promise<Params | undefined>
  /** Adds a card above the calls. */
  show(card: HTMLElement): void
}

/** @param shown returns what to show for a result that creates a task, and `undefined` for any other result */
export function calls(read: Reading, shown: (result: Params, title: string) => Child | undefined): Calls {
  const element = make('div', { class: 'calls' })
  return { element, run, show }

  function show(card: HTMLElement): void {
    element.prepend(card)
    while (element.childElementCount > mostShown) element.lastElementChild?.remove()
  }

  async function run(client: TestClient, { title, method, params }: Called): Promise<Params | undefined> {
    const stop = new AbortController()
    const began = performance.now()
    const status = make('span', { class: 'status', role: 'status' }, 'running')
    const cancel = button('Cancel', () => stop.abort(), { 'aria-label': `Cancel ${title}` })
    const bar = make('progress', { hidden: true, 'aria-label': `Progress of ${title}` })
    const step = make('p', { class: 'hint', hidden: true })
    const answer = make('div', { class: 'answer' })
    const card = make(
      'article',
      { class: 'card call', 'aria-label': title, 'data-state': 'running' },
      make('div', { class: 'bar' }, make('h3', {}, title), status, cancel),
      bar,
      step,
      answer,
    )
    show(card)

    const onProgress = ({ progress, total, message }: Params) => {
      bar.hidden = step.hidden = false
      if (typeof total === 'number') bar.max = total
      if (typeof total === 'number') bar.value = Number(progress)
      step.textContent = `${progress}${total === undefined ? '' : ` of ${total}`}${message === undefined ? '' : `: ${message}`}`
    }
    try {
      const result = await client.request(method, params, { signal: stop.signal, onProgress })
      const isFailed = result.isError === true
      end(isFailed ? 'failed' : 'done', shown(result, title) ?? resultOf(result, read))
      return result
    } catch (problem) {
      end(stop.signal.aborted ? 'cancelled' : 'failed', stop.signal.aborted ? [] : errorOf(problem))
      return undefined
    }

    function end(state: string, children: Child): void {
      const hadFocus = document.activeElement === cancel
      status.textContent = `${state}, ${Math.round(performance.now() - began)} ms`
      card.dataset.state = state
      cancel.remove()
      bar.hidden = true
      fill(answer, children)
      if (hadFocus) document.querySelector<HTMLElement>('.run')?.focus()
    }
  }
}
