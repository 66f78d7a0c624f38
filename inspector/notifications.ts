/** Shows notifications of the server: log messages, changed lists, updated resources. */
import { button, fill, make } from './element.ts'
import { preview, tree } from './json.ts'
import type { Frame } from './traffic.ts'

const maxShown = 500

export interface NotificationLog {
  readonly element: HTMLElement
  /** Adds a notification. */
  add(method: string, params: Record<string, unknown>, frame: Pick<Frame, 'at'>): void
}

export function notificationLog(): NotificationLog {
  const list = make('ol', { class: 'happenings', role: 'log', 'aria-label': 'Notifications' })
  const element = make(
    'section',
    { class: 'told', 'aria-label': 'Notifications' },
    make(
      'div',
      { class: 'bar' },
      make('h2', {}, 'Notifications'),
      button('Clear', () => fill(list), { 'aria-label': 'Clear notifications' }),
    ),
    list,
  )
  return {
    element,
    add(method, params, { at }) {
      const { level } = params
      const isLog = method === 'notifications/message'
      const data = isLog ? params.data : params
      const words = isLog
        ? `${params.logger ? `${params.logger}: ` : ''}${typeof data === 'string' ? data : preview(data)}`
        : subjectOf(params)
      const kind = isLog ? String(level) : method.replace('notifications/', '')
      const isBad = isLog && ['error', 'critical', 'alert', 'emergency'].includes(kind)
      list.append(
        make(
          'li',
          {},
          make('small', {}, `${(at / 1000).toFixed(3)} s `),
          make('b', { class: isBad ? 'bad' : 'kind' }, kind),
          ` ${words}`,
          typeof data === 'object' && data !== null && Object.keys(data).length > 0 && tree(data, undefined, 0),
        ),
      )
      if (list.childElementCount > maxShown) list.firstElementChild?.remove()
      list.scrollTop = list.scrollHeight
    },
  }
}

const subjectOf = ({ uri, taskId, status }: Record<string, unknown>): string =>
  [uri ?? (typeof taskId === 'string' ? `${taskId.slice(0, 12)}…` : undefined), status]
    .filter((word) => word !== undefined)
    .join(' ')
