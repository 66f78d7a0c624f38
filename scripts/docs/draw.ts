/**
 * Draws diagrams as SVG for the documentation. All are 370 units wide with text of 12 units, so that they are legible on a
 * screen of 390 pixels. Colors follow the reader's color scheme; the site replaces them by those of its theme.
 */

export const width = 370

const style = `
  text { font: 12px system-ui, sans-serif; fill: #3c3c43 }
  .label { stroke: #fff; stroke-width: 4; paint-order: stroke }
  .strong { font-weight: 600 }
  .muted { fill: #62626b }
  .box { fill: #f6f6f7; stroke: #8e8e99 }
  .accent { fill: #fdeee0; stroke: #b3450b }
  .line { fill: none; stroke: #8e8e99 }
  .arrow { fill: none; stroke: #3c3c43; stroke-width: 1.4 }
  .head { fill: #3c3c43 }
  .dashed { stroke-dasharray: 4 3 }
  @media (prefers-color-scheme: dark) {
    text { fill: #dfdfd6 }
    .label { stroke: #1b1b1f }
    .muted { fill: #a8a8b3 }
    .box { fill: #202127; stroke: #6a6a76 }
    .accent { fill: #3a2717; stroke: #ffa057 }
    .line { stroke: #6a6a76 }
    .arrow { stroke: #dfdfd6 }
    .head { fill: #dfdfd6 }
  }`

const escapeXml = (text: string) =>
  text.replace(/[&<>]/g, (char) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;' })[char] ?? '')

/** @param title names the diagram for readers who cannot see it */
function svg(title: string, height: number, shapes: readonly string[]): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" class="diagram">`,
    `<title>${escapeXml(title)}</title>`,
    `<style>${style}\n</style>`,
    ...shapes,
    '</svg>\n',
  ].join('\n')
}

type Anchor = 'start' | 'middle' | 'end'

/** One line of text for each string. @param y the baseline of the first line */
function text(
  x: number,
  y: number,
  lines: readonly string[],
  { anchor = 'middle', style = '' }: TextOptions = {},
): string {
  const spans = lines.map(
    (line, index) => `<tspan x="${x}" ${index === 0 ? `y="${y}"` : 'dy="15"'}>${escapeXml(line)}</tspan>`,
  )
  return `<text text-anchor="${anchor}"${style ? ` class="${style}"` : ''}>${spans.join('')}</text>`
}
type TextOptions = { anchor?: Anchor; style?: string }

const box = (x: number, y: number, w: number, h: number, style = 'box') =>
  `<rect x="${x}" y="${y}" width="${w}" height="${h}" rx="6" class="${style}"/>`

/** Breaks a text at spaces into lines of at most `characters`, and at each line break. */
function wrap(all: string, characters: number): string[] {
  const lines: string[] = []
  for (const paragraph of all.split('\n')) {
    let line = ''
    for (const word of paragraph.split(' ')) {
      if (line !== '' && line.length + 1 + word.length > characters) {
        lines.push(line)
        line = word
      } else line = line === '' ? word : `${line} ${word}`
    }
    lines.push(line)
  }
  return lines
}

/** Average widths of a character of 12 units. */
const characterWidth = 6.3
const strongCharacterWidth = 7.1

function arrow(from: number, to: number, y: number, isDashed: boolean): string {
  const direction = Math.sign(to - from)
  const tip = to - 2 * direction
  const head = `<path class="head" d="M${tip} ${y}l${-8 * direction} -4v8z"/>`
  return `<path class="arrow${isDashed ? ' dashed' : ''}" d="M${from} ${y}H${tip - 6 * direction}"/>${head}`
}

/** `arrow`: a message from one lane to another. `note`: a box on one lane, or across several. */
export type SequenceStep =
  | { readonly arrow: readonly [from: number, to: number]; readonly text: string; readonly dashed?: boolean }
  | { readonly note: readonly [first: number, last: number]; readonly text: string; readonly accent?: boolean }

export type Sequence = {
  readonly title: string
  /** Names of two to four participants, from left to right. `\n` breaks a line. */
  readonly lanes: readonly string[]
  readonly steps: readonly SequenceStep[]
}

/** Draws messages between participants, from top to bottom. */
export function sequence({ title, lanes, steps }: Sequence): string {
  const laneWidth = width / lanes.length
  const centers = lanes.map((_, index) => laneWidth * (index + 0.5))
  const center = (lane: number) => centers[lane] ?? 0
  const names = lanes.map((name) => name.split('\n'))
  const headHeight = 14 + 15 * Math.max(...names.map(({ length }) => length))
  const heads = names.flatMap((lines, lane) => [
    box(center(lane) - laneWidth / 2 + 5, 4, laneWidth - 10, headHeight),
    text(center(lane), 4 + headHeight / 2 + 4 - (lines.length - 1) * 7.5, lines, { style: 'strong' }),
  ])
  let y = headHeight + 20
  const shapes: string[] = []
  for (const step of steps) {
    if ('arrow' in step) {
      const [from, to] = step.arrow
      const room = Math.abs(center(to) - center(from))
      const lines = wrap(step.text, Math.floor((room - 8) / characterWidth))
      shapes.push(text((center(from) + center(to)) / 2, y + 8, lines, { style: 'label' }))
      y += 15 * lines.length
      shapes.push(arrow(center(from), center(to), y, step.dashed === true))
      y += 14
    } else {
      const [first, last] = step.note
      const left = center(first) - laneWidth / 2 + 8
      const right = center(last) + laneWidth / 2 - 8
      const lines = wrap(step.text, Math.floor((right - left - 12) / characterWidth))
      const height = 15 * lines.length + 10
      shapes.push(box(left, y - 2, right - left, height, step.accent ? 'accent' : 'box'))
      shapes.push(text((left + right) / 2, y + 13, lines))
      y += height + 10
    }
  }
  const lines = centers.map((x) => `<path class="line dashed" d="M${x} ${headHeight + 4}V${y}"/>`)
  return svg(title, y + 6, [...lines, ...heads, ...shapes])
}

export type FlowStep = {
  readonly text: string
  /** The place of the step, such as the path of a file. */
  readonly place?: string
  /** The result of the flow at this step. */
  readonly exit?: string
  readonly accent?: boolean
}
export type Flow = { readonly title: string; readonly steps: readonly FlowStep[] }

/** Draws steps below one another. Results are on the right. */
export function flow({ title, steps }: Flow): string {
  const hasExits = steps.some(({ exit }) => exit)
  const boxWidth = hasExits ? width - 138 : width - 20
  let y = 6
  const shapes: string[] = []
  for (const [index, { text: what, place, exit, accent }] of steps.entries()) {
    const lines = wrap(what, Math.floor((boxWidth - 20) / strongCharacterWidth))
    const height = 15 * (lines.length + (place ? 1 : 0)) + 12
    shapes.push(box(10, y, boxWidth, height, accent ? 'accent' : 'box'))
    shapes.push(text(20, y + 18, lines, { anchor: 'start', style: place ? 'strong' : '' }))
    if (place) shapes.push(text(20, y + 18 + 15 * lines.length, [place], { anchor: 'start', style: 'muted' }))
    if (exit) {
      const exits = wrap(exit, 15)
      shapes.push(arrow(10 + boxWidth, 10 + boxWidth + 24, y + height / 2, false))
      shapes.push(text(boxWidth + 38, y + height / 2 + 4 - (exits.length - 1) * 7.5, exits, { anchor: 'start' }))
    }
    y += height
    if (index === steps.length - 1) continue
    const x = 10 + boxWidth / 2
    shapes.push(`<path class="arrow" d="M${x} ${y}v9"/><path class="head" d="M${x} ${y + 15}l-4 -8h8z"/>`)
    y += 16
  }
  return svg(title, y + 6, shapes)
}

export type Nested = { readonly title: string; readonly boxes: readonly string[]; readonly inside: string }

/** Draws boxes inside one another, the outermost first. */
export function nested({ title, boxes, inside }: Nested): string {
  const step = 26
  const innerHeight = 34
  const height = boxes.length * (step + 10) + innerHeight + 12
  const shapes = boxes.flatMap((name, index) => {
    const [x, y] = [6 + index * 12, 6 + index * step]
    const bottom = height - 6 - index * 10
    return [box(x, y, width - 2 * x, bottom - y), text(width / 2, y + 17, [name])]
  })
  const [x, y] = [6 + boxes.length * 12, 6 + boxes.length * step]
  shapes.push(box(x, y, width - 2 * x, innerHeight, 'accent'), text(width / 2, y + 21, [inside], { style: 'strong' }))
  return svg(title, height, shapes)
}

export type Groups = {
  readonly title: string
  readonly groups: readonly {
    readonly name: string
    readonly items: readonly (readonly [what: string, detail: string])[]
  }[]
}

/** Draws boxes with a name and a list of things, each with a detail on the right. */
export function groups({ title, groups }: Groups): string {
  let y = 6
  const shapes: string[] = []
  for (const { name, items } of groups) {
    const height = 30 + 18 * items.length
    shapes.push(box(6, y, width - 12, height), text(16, y + 18, [name], { anchor: 'start', style: 'strong' }))
    for (const [index, [what, detail]] of items.entries()) {
      shapes.push(text(16, y + 38 + 18 * index, [what], { anchor: 'start' }))
      shapes.push(text(width - 16, y + 38 + 18 * index, [detail], { anchor: 'end', style: 'muted' }))
    }
    y += height + 8
  }
  return svg(title, y, shapes)
}

export type Tree = {
  readonly title: string
  readonly levels: readonly { readonly name: string; readonly boxes: number; readonly accent?: boolean }[]
}

/** Draws levels below one another. Each box is connected with the boxes of the next level that are below it. */
export function tree({ title, levels }: Tree): string {
  const [boxHeight, gap] = [26, 44]
  const shapes: string[] = []
  const centersOf = (count: number) => Array.from({ length: count }, (_, index) => (width / count) * (index + 0.5))
  for (const [level, { name, boxes, accent }] of levels.entries()) {
    const y = 22 + level * (boxHeight + gap)
    const centers = centersOf(boxes)
    const next = levels[level + 1]
    for (const child of next ? centersOf(next.boxes) : []) {
      const parent = centers.reduce((best, x) => (Math.abs(x - child) < Math.abs(best - child) ? x : best))
      shapes.push(`<path class="line" d="M${parent} ${y + boxHeight}L${child} ${y + boxHeight + gap}"/>`)
    }
    const w = Math.min(width / boxes - 8, 150)
    for (const x of centers) shapes.push(box(x - w / 2, y, w, boxHeight, accent ? 'accent' : 'box'))
    shapes.push(boxes === 1 ? text(width / 2, y + 17, [name]) : text(width / 2, y - 7, [name], { style: 'label' }))
  }
  return svg(title, 22 + levels.length * (boxHeight + gap) - gap + 8, shapes)
}
