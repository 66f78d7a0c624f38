/** An orange square on white, 20 pixels wide, as PNG. */
export const picture =
  'iVBORw0KGgoAAAANSUhEUgAAABQAAAAUCAIAAAAC64paAAAAH0lEQVR42mP4TwFgGAaavzXJE0Sjmkc1D0XNIyQ/AwBmY+IeQpPjWwAAAABJRU5ErkJggg=='
