/** Creates elements without markup: strings of the server become text nodes only. */

export type Child = Node | string | number | undefined | false | readonly Child[]

type Attributes = Readonly<Record<string, string | number | boolean | undefined | ((event: never) => unknown)>>

/** Creates an element. Functions and booleans are set as properties, other values as attributes; `undefined` is ignored. */
export function make<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined) continue
    if (typeof value === 'function' || typeof value === 'boolean') Object.assign(element, { [name]: value })
    else element.setAttribute(name, String(value))
  }
  element.append(...nodes(children))
  return element
}

/** Replaces the children of an element. */
export const fill = (element: Element, ...children: Child[]): void => element.replaceChildren(...nodes(children))

const nodes = (children: readonly Child[]): (Node | string)[] =>
  children
    .flatMap((child) => {
      if (child === undefined || child === false) return []
      return typeof child === 'object' && !(child instanceof Node) ? nodes(child) : [child as Node | string]
    })
    .map((child) => (typeof child === 'number' ? String(child) : child))

export const button = (label: string, onclick: () => unknown, attributes: Attributes = {}): HTMLButtonElement =>
  make('button', { type: 'button', onclick, ...attributes }, label)

let last = 0
/** Returns an id that is unique on this page. */
export const newId = (): string => `e${++last}`

/** Creates a button that copies a text to the clipboard and confirms it. */
export function copyButton(what: string, text: () => string): HTMLButtonElement {
  const made = button('Copy', copy, { 'aria-label': `Copy ${what}` })
  return made

  async function copy(): Promise<void> {
    await navigator.clipboard.writeText(text())
    made.textContent = 'Copied'
    setTimeout(() => (made.textContent = 'Copy'), 1500)
  }
}
