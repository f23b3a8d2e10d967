// Package parts has what the pages of the workbench are made of, and what surrounds them:
// header, alarm, help line, filter, log pane, dialogs. Parts do not know the pages.
package parts
