// Package parts has the building blocks of the workbench's pages, and their surroundings: header, alarm, help line,
// filter, log pane, dialogs. Parts do not know the pages.
package parts
