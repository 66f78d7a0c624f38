/** What the developer entered, for as long as the tab is open: a reload of the page or of the server keeps it. */

const key = (name: string): string => `edgemcp-inspector ${name}`

/** Returns what was saved under a name. `undefined`: nothing, or the browser has no storage. */
export function saved(name: string): unknown {
  try {
    return JSON.parse(sessionStorage.getItem(key(name)) ?? 'null') ?? undefined
  } catch {
    return undefined
  }
}

/** Saves a JSON value under a name; `undefined` removes it. */
export function save(name: string, value: unknown): void {
  try {
    if (value === undefined) sessionStorage.removeItem(key(name))
    else sessionStorage.setItem(key(name), JSON.stringify(value))
  } catch {
    // The storage is full or disabled: the page works without it.
  }
}

/** Fills in the named controls of a form as they were saved, and saves each change. */
export function saveControls(form: HTMLFormElement, name: string): void {
  const controls = [...form.elements].filter(
    (element): element is HTMLInputElement | HTMLSelectElement =>
      (element instanceof HTMLInputElement || element instanceof HTMLSelectElement) && element.name !== '',
  )
  const values = Object(saved(name)) as Record<string, unknown>
  for (const control of controls) {
    const value = values[control.name]
    if (isBox(control) && typeof value === 'boolean') control.checked = value
    else if (typeof value === 'string' && isPossible(control, value)) control.value = value
  }
  // Before `change` connects, which may end in another page.
  form.addEventListener(
    'input',
    () =>
      save(name, {
        ...values,
        ...Object.fromEntries(
          controls.map((control) => [control.name, isBox(control) ? control.checked : control.value]),
        ),
      }),
    { capture: true },
  )
}

const isBox = (control: Element): control is HTMLInputElement =>
  control instanceof HTMLInputElement && control.type === 'checkbox'

const isPossible = (control: Element, value: string): boolean =>
  !(control instanceof HTMLSelectElement) || [...control.options].some((option) => option.value === value)
