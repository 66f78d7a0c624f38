/** Forms for JSON Schemas. They do not validate, so that the developer sees the server's errors for invalid input. */
import { resolveFragment } from '../worker/protocol/json-pointer.ts'
import { isObject } from '../worker/protocol/jsonrpc.ts'
import type { JsonSchema, Params } from '../worker/protocol/types.ts'
import { button, type Child, fill, make, newId } from './element.ts'
import { pretty } from './json.ts'

export interface Field {
  readonly element: HTMLElement
  /** The value of the field, `undefined` when it is empty. @throws SyntaxError for text that is not the required JSON */
  read(): unknown
}

/** Returns completions of the text in a field. */
export type Complete = (name: string, value: string, others: Params) => Promise<readonly string[]>

/** What the developer entered, and whether as JSON. */
export type Entered = { readonly values: Params; readonly isText: boolean }

export type Form = {
  readonly element: HTMLElement
  /** The button that switches between fields and JSON. */
  readonly toggle: HTMLElement
  /** `undefined`: the input is invalid, and the form shows the error. */
  read(): Params | undefined
  /** As `read`, without showing an error. */
  entered(): Entered | undefined
}

/**
 * Creates a field for each property of an object, or one for its JSON, as the developer chooses.
 *
 * @param earlier what was entered before. Default: nothing
 */
export function form(schema: JsonSchema, earlier?: Entered, complete?: Complete): Form {
  let isText = earlier?.isText ?? false
  const fieldWith = (values: Params | undefined) =>
    isText ? textOf('Arguments as JSON', values ?? {}) : fieldsOf(schema, schema, values, complete)
  let field = fieldWith(earlier?.values)
  const place = make('div', {}, field.element)
  const otherEditor = () => (isText ? 'Edit as a form' : 'Edit as JSON')
  const toggle = button(otherEditor(), toggleEditor, { class: 'quiet' })
  const complaint = make('p', { class: 'bad', role: 'alert', hidden: true })
  return { element: make('div', { class: 'form' }, place, complaint), toggle, read, entered }

  function entered(): Entered | undefined {
    try {
      return { values: (field.read() ?? {}) as Params, isText }
    } catch {
      return undefined
    }
  }

  function read(): Params | undefined {
    try {
      complaint.hidden = true
      return (field.read() ?? {}) as Params
    } catch (problem) {
      complaint.textContent = `Invalid JSON: ${(problem as Error).message}`
      complaint.hidden = false
      return undefined
    }
  }

  function toggleEditor(): void {
    const stored = read()
    if (!stored) return
    isText = !isText
    field = fieldWith(stored)
    toggle.textContent = otherEditor()
    fill(place, field.element)
  }
}

/** The fields of an object, without a frame. */
function fieldsOf(schema: JsonSchema, root: JsonSchema, values: Params = {}, complete?: Complete): Field {
  const { properties = {}, required = [] } = schema as { properties?: Record<string, JsonSchema>; required?: string[] }
  const fields: (readonly [string, Field])[] = Object.entries(properties).map(([name, property]) => {
    const isRequired = Array.isArray(required) && required.includes(name)
    const suggest = complete && ((value: string) => complete(name, value, (read() ?? {}) as Params))
    return [name, fieldFor(property, { name, isRequired, root, value: values[name], suggest })] as const
  })
  const read = (): Params | undefined => {
    const read = fields.map(([name, field]) => [name, field.read()] as const).filter(([, value]) => value !== undefined)
    return read.length === 0 ? undefined : Object.fromEntries(read)
  }
  return {
    element: make(
      'div',
      { class: 'fields' },
      fields.map(([, { element }]) => element),
    ),
    read,
  }
}

type Place = {
  name: string
  isRequired: boolean
  root: JsonSchema
  value?: unknown
  depth?: number
  suggest?: ((value: string) => Promise<readonly string[]>) | undefined
}

function fieldFor(declared: unknown, place: Place): Field {
  const depth = (place.depth ?? 0) + 1
  const schema = resolved(declared, place.root)
  const inner = { ...place, depth, value: place.value ?? schema.default }
  // A schema may be recursive.
  if (depth > 8) return jsonField(schema, inner)
  const choices = choicesOf(schema)
  if (choices) return choiceField(schema, choices, inner)
  const type = typeOf(schema)
  if (type === 'boolean') return booleanField(schema, inner)
  if (type === 'integer' || type === 'number') return numberField(schema, inner)
  if (type === 'string') return stringField(schema, inner)
  if (type === 'array' && choicesOf(resolved(schema.items, place.root))) return manyField(schema, inner)
  if (type === 'array' && !schema.prefixItems) return listField(schema, inner)
  if (type === 'object' && schema.properties) return objectField(schema, inner)
  const variants = (schema.anyOf ?? schema.oneOf) as unknown[] | undefined
  if (Array.isArray(variants)) return variantField(schema, variants, inner)
  return jsonField(schema, inner)
}

// // Single values

function stringField(schema: JsonSchema, place: Place): Field {
  const isLong = Number(schema.maxLength) >= 500
  const types: Record<string, string> = { email: 'email', date: 'date', time: 'time', uri: 'url' }
  const input = isLong
    ? make('textarea', { rows: 4 })
    : make('input', { type: types[String(schema.format)] ?? 'text', autocomplete: 'off', spellcheck: 'false' })
  input.value = textIn(place.value)
  if (place.suggest && input instanceof HTMLInputElement) suggestIn(input, place.suggest)
  return labelled(input, schema, place, () => input.value || (place.isRequired ? '' : undefined))
}

/** Offers the completions of the server for this text. */
function suggestIn(input: HTMLInputElement, suggest: (value: string) => Promise<readonly string[]>): void {
  const list = make('datalist', { id: newId() })
  input.setAttribute('list', list.id)
  let index = 0
  const ask = async () => {
    const mine = ++index
    const values = await suggest(input.value).catch(() => [])
    if (mine !== index) return
    if (!list.isConnected) input.after(list)
    fill(
      list,
      values.map((value) => make('option', { value })),
    )
  }
  input.addEventListener('input', ask)
  input.addEventListener('focus', ask)
}

function numberField(schema: JsonSchema, place: Place): Field {
  // The input is not of type number, so that text that is not a number reaches the server.
  const input = make('input', { inputmode: 'decimal', autocomplete: 'off' })
  input.value = textIn(place.value)
  return labelled(input, schema, place, () => {
    const text = input.value.trim()
    return text === '' ? undefined : Number.isNaN(Number(text)) ? text : Number(text)
  })
}

function booleanField(schema: JsonSchema, place: Place): Field {
  // An optional boolean has three values: true, false and absent.
  if (!place.isRequired && place.value === undefined) {
    return choiceField(
      schema,
      [
        { value: true, label: 'yes' },
        { value: false, label: 'no' },
      ],
      place,
    )
  }
  const input = make('input', { type: 'checkbox', id: newId(), checked: place.value === true })
  const [label, description] = wordsOf(input.id, schema, place)
  if (description) input.setAttribute('aria-describedby', description.id)
  return {
    element: make('div', { class: 'field check' }, input, label, description),
    read: () => input.checked,
  }
}

type Choice = { value: unknown; label: string }

function choiceField(schema: JsonSchema, choices: readonly Choice[], place: Place): Field {
  const isOpen = !place.isRequired || place.value === undefined
  const select = make(
    'select',
    {},
    isOpen && make('option', { value: '' }, '–'),
    choices.map(({ value, label }, index) => make('option', { value: index, selected: value === place.value }, label)),
  )
  return labelled(select, schema, place, () => choices[select.value === '' ? -1 : Number(select.value)]?.value)
}

function jsonField(schema: JsonSchema, place: Place): Field {
  return textField(schema, place, place.value === undefined ? '' : pretty(place.value))
}

const textOf = (name: string, value: unknown): Field =>
  textField({}, { name, isRequired: true, root: {} }, pretty(value))

function textField(schema: JsonSchema, place: Place, text: string): Field {
  const input = make('textarea', { rows: 5, spellcheck: 'false', class: 'code' }, text)
  return labelled(input, schema, place, () => (input.value.trim() === '' ? undefined : JSON.parse(input.value)))
}

// Lists

function objectField(schema: JsonSchema, place: Place): Field {
  const fields = fieldsOf(schema, place.root, Object(place.value) as Params)
  return {
    element: group(schema, place, fields.element),
    read: () => fields.read() ?? (place.isRequired ? {} : undefined),
  }
}

function manyField(schema: JsonSchema, place: Place): Field {
  const choices = choicesOf(resolved(schema.items, place.root)) ?? []
  const chosen = Array.isArray(place.value) ? place.value : []
  const boxes = choices.map(({ value, label }) => {
    const input = make('input', { type: 'checkbox', id: newId(), checked: chosen.includes(value) })
    return {
      value,
      input,
      element: make('div', { class: 'field check' }, input, make('label', { for: input.id }, label)),
    }
  })
  return {
    element: group(
      schema,
      place,
      boxes.map(({ element }) => element),
    ),
    read() {
      const values = boxes.filter(({ input }) => input.checked).map(({ value }) => value)
      return values.length > 0 || place.isRequired ? values : undefined
    },
  }
}

function listField(schema: JsonSchema, place: Place): Field {
  const items: Field[] = []
  const list = make('div')
  const name = titleOf(schema, place)
  const more = button(`Add to ${name}`, () => add(undefined)?.focus(), { class: 'quiet' })
  for (const value of Array.isArray(place.value) ? place.value : []) add(value)
  return {
    element: group(schema, place, list, more),
    read() {
      const values = items.map((item) => item.read())
      return values.length > 0 || place.isRequired ? values : undefined
    },
  }

  function add(value: unknown): HTMLElement | null {
    const label = `${name} ${items.length + 1}`
    const field = fieldFor(
      { ...resolved(schema.items, place.root), title: label },
      { ...place, isRequired: true, value, name: label },
    )
    items.push(field)
    const row = make(
      'div',
      { class: 'row' },
      field.element,
      button(
        'Remove',
        () => {
          items.splice(items.indexOf(field), 1)
          row.remove()
          more.focus()
        },
        { class: 'quiet', 'aria-label': `Remove ${label}` },
      ),
    )
    list.append(row)
    return field.element.querySelector<HTMLElement>('input,select,textarea,button')
  }
}

function variantField(schema: JsonSchema, declared: readonly unknown[], place: Place): Field {
  const variants = declared.map((variant) => resolved(variant, place.root))
  const others = variants.filter((variant) => variant.type !== 'null')
  // A nullable value has the field of its other type, which may stay empty.
  if (others.length === 1) return fieldFor({ ...others[0], ...wordsIn(schema) }, { ...place, isRequired: false })
  let field: Field | undefined
  const inside = make('div')
  const select = make(
    'select',
    { 'aria-label': `Which ${titleOf(schema, place)}`, onchange: show },
    make('option', { value: '' }, '–'),
    variants.map((variant, index) => make('option', { value: index }, nameOf(variant, index))),
  )
  const fitting = place.value === undefined ? -1 : variants.findIndex((variant) => fits(place.value, variant))
  if (fitting >= 0) select.value = String(fitting)
  show()
  return { element: group(schema, place, select, inside), read: () => field?.read() }

  function show(): void {
    const variant = select.value === '' ? undefined : variants[Number(select.value)]
    field = variant && fieldFor(variant, { ...place, isRequired: true })
    fill(inside, field?.element)
  }
}

/** Whether a value has the type of a schema and, if it is an object, members of it only. */
function fits(value: unknown, schema: JsonSchema): boolean {
  const { properties } = schema as { properties?: object }
  if (properties) return isObject(value) && Object.keys(value).every((name) => name in properties)
  const type = Array.isArray(value) ? 'array' : typeof value
  const expected = typeOf(schema)
  return expected === undefined || expected === type || (expected === 'integer' && type === 'number')
}

const nameOf = ({ title, type, properties }: JsonSchema, index: number): string =>
  String(title ?? (properties ? Object.keys(properties).join(', ') : (type ?? `variant ${index + 1}`)))

// Labels

function labelled(
  input: HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement,
  schema: JsonSchema,
  place: Place,
  read: () => unknown,
): Field {
  input.id = newId()
  const [label, description] = wordsOf(input.id, schema, place)
  if (description) input.setAttribute('aria-describedby', description.id)
  if (place.isRequired) input.setAttribute('aria-required', 'true')
  return { element: make('div', { class: 'field' }, label, input, description), read }
}

function wordsOf(id: string, schema: JsonSchema, place: Place) {
  const label = make('label', { for: id }, titleOf(schema, place), hint(schema, place))
  return [label, descriptionOf(schema)] as const
}

function group(schema: JsonSchema, place: Place, ...children: Child[]): HTMLElement {
  const legend = make('legend', {}, titleOf(schema, place), hint(schema, place))
  return make('fieldset', {}, legend, descriptionOf(schema), children)
}

const titleOf = ({ title }: JsonSchema, { name }: Place): string => (typeof title === 'string' ? title : name)

function hint({ type, format }: JsonSchema, { isRequired }: Place): HTMLElement {
  const kind = [format ?? type]
    .flat()
    .filter((word) => word !== undefined && word !== 'null')
    .join(' or ')
  return make('small', { 'aria-hidden': 'true' }, `${kind}${isRequired ? '' : `${kind && ', '}optional`}`)
}

const descriptionOf = ({ description }: JsonSchema) =>
  typeof description === 'string' ? make('p', { id: newId(), class: 'hint' }, description) : undefined

const wordsIn = ({ title, description, default: value }: JsonSchema): JsonSchema => ({
  ...(title !== undefined && { title }),
  ...(description !== undefined && { description }),
  ...(value !== undefined && { default: value }),
})

// Schemas

/** The values that `enum`, `const` or `oneOf` allow, with their labels. */
function choicesOf(schema: JsonSchema): Choice[] | undefined {
  if (Array.isArray(schema.enum)) {
    const names = Array.isArray(schema.enumNames) ? schema.enumNames : []
    return schema.enum.map((value, index) => ({ value, label: String(names[index] ?? value) }))
  }
  if ('const' in schema) return [{ value: schema.const, label: String(schema.title ?? schema.const) }]
  const variants = schema.oneOf ?? schema.anyOf
  if (!Array.isArray(variants) || variants.length === 0 || !variants.every((variant) => 'const' in Object(variant))) {
    return undefined
  }
  return variants.map((variant) => ({ value: variant.const, label: String(variant.title ?? variant.const) }))
}

function typeOf({ type }: JsonSchema): string | undefined {
  const types = [type].flat().filter((name) => name !== 'null')
  return types.length === 1 ? (types[0] as string | undefined) : undefined
}

/** Resolves a reference, and adds the members beside it. */
function resolved(schema: unknown, root: JsonSchema, depth = 0): JsonSchema {
  const { $ref, ...beside } = Object(schema) as JsonSchema & { $ref?: unknown }
  if (typeof $ref !== 'string' || !$ref.startsWith('#') || depth > 8) return Object(schema) as JsonSchema
  return { ...resolved(resolveFragment(root, $ref), root, depth + 1), ...beside }
}

const textIn = (value: unknown): string => (value === undefined || value === null ? '' : String(value))
